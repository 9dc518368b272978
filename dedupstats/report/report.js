// Draws the charts from the JSON beside it, in the colours that the style sheet has for light or dark.
"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const style = getComputedStyle(document.documentElement);

  // a colour is given as var(--name); nothing else in a figure is touched
  const coloured = (value, key) => {
    if (Array.isArray(value)) return value.map((member) => coloured(member, key));
    if (value !== null && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, coloured(member, name)]));
    }
    const isColour = typeof value === "string" && key.endsWith("color") && value.startsWith("var(");
    return isColour ? style.getPropertyValue(value.slice(4, -1)).trim() : value;
  };

  const draw = () => {
    for (const [id, figure] of Object.entries(figures)) {
      const layout = coloured(figure.layout, "");
      layout.font.family = style.fontFamily;
      Plotly.react(id, coloured(figure.data, ""), layout, { displayModeBar: false, responsive: true });
    }
  };

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();

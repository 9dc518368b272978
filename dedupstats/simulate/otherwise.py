"""What a policy could have been instead: its other revisions and presets, and each choice made otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dedupstats.policies.parameters import Choice, Flag
from dedupstats.policies.spec import spec_of
from dedupstats.simulate.variants import Variant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupstats.policies.parameters import Value
    from dedupstats.policies.spec import Settings

CHOICES: Final = ("wiring", "errors", "ledger", "compaction_handler", "tools")
"""the choices that decide more than any threshold, in the order in which tables show them"""


def otherwise(variant: Variant) -> list[tuple[str, Variant]]:
    """The same policy with one thing changed, and what is changed in words (`wiring = session`).

    First the other revisions with the same preset, then the other presets, then each choice alone. What
    comes to the same settings as one before is left out.
    """
    met = {(variant.spec.label, variant.settings)}
    found = []
    for change, other in (*_revisions(variant), *_presets(variant), *_choices(variant)):
        name = (other.spec.label, other.settings)
        if name not in met:
            met.add(name)
            found.append((change, other))
    return found


def _revisions(variant: Variant) -> Iterator[tuple[str, Variant]]:
    definition = variant.spec.definition
    for revision in definition.revisions:
        spec = spec_of(definition, revision)
        settings = {name: value for name, value in variant.spec.settings.items() if name in spec.settings}
        usual = spec_of(definition, variant.spec.revision).settings
        # what a person or a preset set goes along; other defaults are the revision's own
        changed = {name: value for name, value in settings.items() if value != usual[name]}
        yield f"revision {revision}", Variant(spec.using(listed(changed)), variant.preset, False)


def _presets(variant: Variant) -> Iterator[tuple[str, Variant]]:
    for preset in variant.spec.definition.presets:
        if preset.name and preset.settings.keys() <= variant.spec.settings.keys():
            spec = variant.spec.using(listed(preset.settings))
            yield f"preset {preset.name}", Variant(spec, preset.name, False)


def _choices(variant: Variant) -> Iterator[tuple[str, Variant]]:
    spec = variant.spec
    parameters = {parameter.name: parameter for parameter in spec.definition.parameters}
    for name in CHOICES:
        if name not in spec.settings:
            continue
        parameter = parameters[name]
        values: tuple[Value, ...] = ()
        if isinstance(parameter, Choice):
            values = parameter.choices
        elif isinstance(parameter, Flag):
            values = (True, False)
        for value in values:
            words = str(value).lower() if isinstance(value, bool) else value
            yield f"{name} = {words}", Variant(spec.using({name: value}), variant.preset, False)


def listed(settings: Settings) -> dict[str, Any]:
    """Settings as JSON has them: sets as sorted lists."""
    return {
        name: sorted(value) if isinstance(value, frozenset) else value for name, value in settings.items()
    }

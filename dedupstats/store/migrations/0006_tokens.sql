-- Results counted by the model's own tokenizer; and by which constants each source's results are estimated, made
-- anew with their costs (history/fits.py).

alter table raw.emission add column o200k_tokens bigint;
create table derived.calibration_fit (
    source varchar, family varchar, basis varchar, steps bigint, sessions bigint, tested bigint, const double,
    letter double, digit double, newline double, other_ascii double, non_ascii double,
    sheet_median_error double, sheet_p90_error double, refit_median_error double, refit_p90_error double,
    bytes4_error double
);

"""The report: built once as plain data (`build.py`), then printed by renderers that compute nothing."""

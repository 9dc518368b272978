-- What requests and emissions cost: made anew after each import, and when prices change (history/costs.py).

create table derived.request_cost (
    request_key bigint, read_tokens double, write_1h_tokens double, write_5m_tokens double,
    uncached_tokens double, input_usd double, output_tokens double, is_output_known boolean,
    output_usd double, is_modelled boolean, is_expired boolean
);
create table derived.request_share (
    request_key bigint, kind varchar, label varchar, read_tokens double, write_1h_tokens double,
    write_5m_tokens double, uncached_tokens double, usd double, again_tokens double, again_usd double
);
create table derived.emission_cost (
    emission_key bigint, tokens double, level bigint, class_tokens double, requests bigint,
    read_tokens double, write_1h_tokens double, write_5m_tokens double, uncached_tokens double,
    usd double, unpriced_tokens double, modelled_tokens double
);

{#- The prices of options by the model of Black and Scholes, 5 % interest a year: of a relation with
    option_symbol, price (of the stock), strike, exp (the years until it expires) and stdev. #}
{% macro call_prices(relation) %}
select option_symbol, greatest(
    spot * {{ normal_distribution('d1') }} - paid * {{ normal_distribution('d2') }}, spot - paid, 0.0e0
  ) as price
from (
  select option_symbol, spot, paid, d1, d1 - spread as d2
  from (
    select option_symbol, spot, paid, spread,
      (ln(spot / strike) + (0.05e0 + stdev * stdev / 2) * years) / spread as d1
    from (
      select option_symbol, spot, strike, stdev, years, strike * exp(-0.05e0 * years) as paid,
        stdev * sqrt(years) as spread
      from (
        select option_symbol, cast(price as double) as spot, cast(strike as double) as strike,
          cast(exp as double) as years, cast(stdev as double) as stdev
        from {{ relation }} as given
      ) as typed
    ) as with_spread
  ) as with_d1
) as with_d2
{% endmacro %}

{#- How likely a normal variable is to be at most x, to fourteen digits: G. West, Better approximations to
    cumulative normal functions, Wilmott, 2005. #}
{% macro normal_distribution(x) %}
{%- set y = 'abs(' ~ x ~ ')' -%}
{%- set above = [3.52624965998911e-02, 0.700383064443688, 6.37396220353165, 33.912866078383,
                 112.079291497871, 221.213596169931, 220.206867912376] -%}
{%- set below = [8.83883476483184e-02, 1.75566716318264, 16.064177579207, 86.7807322029461,
                 296.564248779674, 637.333633378831, 793.826512519948, 440.413735824752] -%}
(case when {{ x }} > 0 then 1.0e0 else 0.0e0 end + case when {{ x }} > 0 then -1 else 1 end * exp(-{{ x }} * {{ x }} / 2) * case
  when {{ y }} > 37 then 0.0e0
  when {{ y }} < 7.07106781186547e0 then {{ polynomial(above, y) }} / {{ polynomial(below, y) }}
  else 1.0e0 / ({{ y }} + 1.0e0 / ({{ y }} + 2.0e0 / ({{ y }} + 3.0e0 / ({{ y }} + 4.0e0 / ({{ y }} + 0.65e0)))))
    / 2.506628274631e0
end)
{%- endmacro %}

{#- A polynomial, its coefficients from the highest power down. #}
{% macro polynomial(coefficients, x) -%}
  {%- for one in coefficients[:-1] %}({% endfor -%}
  {%- for one in coefficients -%}
    {{ '%.15ge0' % one if 'e' not in ('%.15g' % one) else '%.15g' % one }}
    {%- if not loop.first %}){% endif %}{% if not loop.last %} * {{ x }} + {% endif %}
  {%- endfor -%}
{%- endmacro %}

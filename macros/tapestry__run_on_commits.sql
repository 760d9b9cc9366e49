{#- A model whose text is no query over tables: a rule, or an action. A command that limits its inputs leaves it. #}
{% macro tapestry__run_on_commits() %}
  {%- set kind = 'view' if config.get('materialized') == 'action' else 'table' -%}
  {%- set target_relation = this.incorporate(type=kind) -%}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set there = [] if existing_relation is none else [existing_relation] -%}
  {%- set limited = adapter.limited_by() -%}
  {%- set said = {
    'as_of': var('tapestry_as_of', none), 'started_at': run_started_at,
    'full_refresh': should_full_refresh(), 'limited': limited} -%}

  {%- set skipped = adapter.skip_run(model, said) -%}
  {%- if skipped is not none -%}
    {%- do store_result('main', response=skipped) -%}
    {{ return({'relations': there}) }}
  {%- endif -%}
  {%- if limited is not none -%}
    {%- do store_result('main', response=adapter.limited_response(limited, '')) -%}
    {{ return({'relations': there}) }}
  {%- endif -%}

  {{ run_hooks(pre_hooks) }}

  {%- set plan = adapter.plan_run(model, graph, compiled_code, '', said) -%}
  {%- for warning in plan.told.warnings -%}
    {%- do exceptions.warn(model.name ~ ': ' ~ warning) -%}
  {%- endfor -%}
  {%- if plan.action != 'nothing' -%}
    {%- do write(plan.main) -%}
  {%- endif -%}
  {%- set outcome = adapter.carry_out(plan) -%}
  {%- do store_result('main', response=adapter.run_response(plan, outcome)) -%}

  {%- if kind == 'table' and outcome.action != 'nothing' -%}
    {%- do apply_grants(target_relation, config.get('grants'), should_revoke(existing_relation, said['full_refresh'])) -%}
    {%- do persist_docs(target_relation, model) -%}
  {%- endif -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target_relation]}) }}
{% endmacro %}

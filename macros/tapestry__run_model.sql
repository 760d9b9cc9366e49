{#- A model of ours, of any kind: plan one run, carry it out; what it decides and why is in tapestry.runs. #}
{% macro tapestry__run_model() %}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set full_refresh_mode = should_full_refresh() -%}
  {%- set limited = adapter.limited_by() -%}
  {%- set said = {
    'as_of': var('tapestry_as_of', none), 'started_at': run_started_at,
    'full_refresh': full_refresh_mode, 'limited': limited} -%}

  {#- A model that is switched off stays as it is: no hook runs, nothing is read. -#}
  {%- set skipped = adapter.skip_run(model, said) -%}
  {%- if skipped is not none -%}
    {%- do store_result('main', response=skipped) -%}
    {{ return({'relations': [] if existing_relation is none else [existing_relation]}) }}
  {%- endif -%}

  {%- set clauses = options_clause() ~ partition_cols(label="partitioned by")
    ~ clustered_cols(label="clustered by") ~ location_clause() ~ comment_clause() -%}
  {%- if limited is not none -%}
    {%- do tapestry__check_contract() -%}
    {%- set made = adapter.plan_limited(model, graph, compiled_code, clauses, said) -%}
    {%- do store_result('main', response=adapter.limited_response(limited, made)) -%}
    {{ return({'relations': [target_relation]}) }}
  {%- endif -%}

  {{ run_hooks(pre_hooks) }}

  {%- set plan = adapter.plan_run(model, graph, compiled_code, clauses, said) -%}
  {%- for warning in plan.told.warnings -%}
    {%- do exceptions.warn(model.name ~ ': ' ~ warning) -%}
  {%- endfor -%}
  {%- do tapestry__check_contract() -%}
  {%- if plan.action != 'nothing' -%}
    {%- do write(plan.main) -%}
    {%- do adapter.write_guarded(plan, model, graph) -%}
  {%- endif -%}

  {#- Only now: a query that is refused leaves what stood there. -#}
  {%- if existing_relation is not none and existing_relation.is_view -%}
    {%- do adapter.drop_relation(existing_relation) -%}
  {%- endif -%}

  {#- A contract that could not be kept when the table was made is asked for again. -#}
  {%- if plan.action not in ('create', 'nothing') -%}
    {%- do persist_constraints(target_relation, model) -%}
  {%- endif -%}

  {%- set outcome = adapter.carry_out(plan) -%}
  {%- for warning in outcome.warnings -%}
    {%- do exceptions.warn(model.name ~ ': ' ~ warning) -%}
  {%- endfor -%}
  {%- do store_result('main', response=adapter.run_response(plan, outcome)) -%}

  {%- if plan.action == 'create' -%}
    {%- do persist_constraints(target_relation, model) -%}
  {%- endif -%}
  {%- do apply_grants(target_relation, config.get('grants'), should_revoke(existing_relation, full_refresh_mode)) -%}
  {#- Each description is a commit of its own, and where nothing is new there is none. -#}
  {%- if outcome.action != 'nothing' -%}
    {%- do persist_docs(target_relation, model) -%}
  {%- endif -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target_relation]}) }}
{% endmacro %}

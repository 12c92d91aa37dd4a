#!/usr/bin/env bash
# Runs tau for action.yml: one prompt in JSON mode, its answer and end as outputs of the step, and a summary.
# What it needs comes as variables, so that no prompt becomes a part of a command.
set -euo pipefail

tau=${TAU_ACTION_BINARY:-$GITHUB_ACTION_PATH/target/release/tau}
folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/tau.XXXXXX")
records=$folder/records.jsonl
answer=$folder/answer.md
touch "$answer"
read -r -a arguments <<<"${TAU_ACTION_ARGUMENTS:-}"

# An @ at the beginning would name a file.
prompt=$TAU_ACTION_PROMPT
[[ $prompt != @* ]] || prompt=" $prompt"

code=0
"$tau" --json --model "$TAU_ACTION_MODEL" --output "$answer" ${arguments[@]+"${arguments[@]}"} -- "$prompt" \
    </dev/null >"$records" || code=$?

# The last record is tau's own; `reason` and `cost` are written by it in this form.
end=$(tail -n 1 "$records" | grep '^{"type":"end"' || true)
reason=$(sed -n 's/^{"type":"end","reason":"\([^"]*\)".*/\1/p' <<<"$end")
cost=$(sed -n 's/.*,"cost":\([0-9.eE+-]*\|null\),"timestamp":"[^"]*"}$/\1/p' <<<"$end")
reason=${reason:-did not start}

# An answer cannot end its own block: nobody can guess the delimiter.
delimiter=tau_$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
{
    echo "reason=$reason"
    echo "cost=${cost:-null}"
    echo "records=$records"
    echo "text<<$delimiter"
    cat "$answer"
    echo
    echo "$delimiter"
} >>"$GITHUB_OUTPUT"

if [[ -n ${GITHUB_STEP_SUMMARY:-} ]]; then
    {
        echo "### tau: $reason"
        echo
        cat "$answer"
        echo
        [[ ${cost:-null} == null ]] || echo "Cost: $cost US dollars"
    } >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"

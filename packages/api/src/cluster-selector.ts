// The labels that an entry of a scope asks of virtual clusters, as a LabelSelector and as the text of `kubectl get -l`.

import { type LabelRequirement, SelectorError } from "@postern/apimachinery/selectors/label-requirement";
import {
  type LabelSelector,
  parseLabelSelector,
  selectorFromLabelSelector,
} from "@postern/apimachinery/selectors/label-selector";

type Requirements = readonly Pick<LabelRequirement, "key" | "operator" | "values">[];

const OPERATORS: { readonly [operator in LabelRequirement["operator"]]: string | undefined } = {
  "=": "In",
  "==": "In",
  in: "In",
  "!=": "NotIn",
  notin: "NotIn",
  exists: "Exists",
  "!": "DoesNotExist",
  // A LabelSelector has no words for them.
  gt: undefined,
  lt: undefined,
};

/** Throws SelectorError for `>` and `<`. */
export function labelSelectorOf(requirements: Requirements): LabelSelector {
  const matchLabels: { [key: string]: string } = {};
  const matchExpressions: { key: string; operator: string; values?: readonly string[] }[] = [];
  for (const { key, operator: symbol, values } of requirements) {
    const operator = OPERATORS[symbol];
    if (operator === undefined) throw new SelectorError("labels are compared as texts: > and < are for numbers");
    const [only, ...others] = values;
    if (operator === "In" && only !== undefined && others.length === 0 && !Object.hasOwn(matchLabels, key))
      matchLabels[key] = only;
    else matchExpressions.push({ key, operator, ...(values.length === 0 ? {} : { values: [...values] }) });
  }
  return {
    ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }),
    ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
  };
}

/** From a text such as `env=dev,tier in (a,b)`. Throws SelectorError, also for the empty text, which would select all. */
export function parseClusterSelector(text: string): LabelSelector {
  const { requirements, empty } = parseLabelSelector(text);
  if (empty) throw new SelectorError("must name at least one label");
  return labelSelectorOf(requirements);
}

/** The text of a selector that was read from the API, whatever is in it. */
export function clusterSelectorText(selector: unknown): string {
  try {
    // Its members are checked one by one.
    return selectorFromLabelSelector(selector as LabelSelector).text;
  } catch {
    return JSON.stringify(selector);
  }
}

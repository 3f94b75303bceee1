// Label selectors as Tables show them.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go (FormatLabelSelector)

export type LabelSelector = {
  readonly matchLabels?: { readonly [label: string]: string };
  readonly matchExpressions?: readonly {
    readonly key?: string;
    readonly operator?: string;
    readonly values?: readonly string[];
  }[];
};

const EXPRESSIONS: { readonly [operator: string]: (key: string, values: string) => string } = {
  In: (key, values) => `${key} in (${values})`,
  NotIn: (key, values) => `${key} notin (${values})`,
  Exists: (key) => key,
  DoesNotExist: (key) => `!${key}`,
};

/** As the scale of a workload shows it: empty for one that selects everything, or is absent. */
export const scaleSelectorText = (selector: LabelSelector | undefined): string => {
  const text = labelSelectorText(selector);
  return text === NONE ? "" : text;
};

const NONE = "<none>";

/** `app=web,tier in (a,b)`; `<none>` for one that selects everything, or is absent. */
export function labelSelectorText(selector: LabelSelector | undefined): string {
  const parts = [
    ...Object.entries(selector?.matchLabels ?? {})
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([label, value]) => `${label}=${value}`),
    ...(selector?.matchExpressions ?? []).map(({ key = "", operator = "", values = [] }) =>
      (EXPRESSIONS[operator] ?? (() => key))(key, values.toSorted().join(",")),
    ),
  ];
  return parts.length === 0 ? NONE : parts.join(",");
}

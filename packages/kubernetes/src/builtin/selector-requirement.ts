// A requirement of a selector, as label selectors and access reviews have it.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go (LabelSelectorRequirement, FieldSelectorRequirement)

import { s } from "@postern/apimachinery/schema/builder";

/** `key` describes the field of that name. */
export const selectorRequirement = (key: string) =>
  s.object({
    key: s.string().describe(key),
    operator: s
      .string()
      .describe(
        "operator represents a key's relationship to a set of values. Valid operators are In, NotIn, Exists and DoesNotExist.",
      ),
    values: s
      .list(s.string())
      .describe(
        "values is an array of string values. If the operator is In or NotIn, the values array must be non-empty.",
      ),
  });

// The texts were read from kube-apiserver 1.36.2.

import { expect, it } from "vitest";
import { validateSelectableFields } from "./selectable-fields.ts";

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        a: { type: "string" },
        n: { type: "integer" },
        list: { type: "array", items: { type: "string" } },
        m: { type: "object", additionalProperties: { type: "string" } },
        open: { type: "object", additionalProperties: true },
      },
    },
  },
};

const invalid = (path: string, why: string): string => `Invalid value: "${path}": is an invalid path: ${why}`;
const wrongType = (path: string): string =>
  `Invalid value: "${path}": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.`;

it.each<[readonly string[], readonly string[]]>([
  [[".spec.a", ".spec.n", ".spec.m.x"], []],
  [[".spec.m.x.y"], [invalid(".spec.m.x.y", "does not refer to a valid field")]],
  [["."], [invalid(".", "unexpected end of JSON path")]],
  [[".spec."], [invalid(".spec.", "unexpected end of JSON path")]],
  [["x"], [invalid("x", "expected [ or . but got: x")]],
  [[""], ["Required value"]],
  [[".spec.a.b"], [invalid(".spec.a.b", "does not refer to a valid field")]],
  [[".spec.list[0]"], [invalid(".spec.list[0]", "array notation is not allowed")]],
  [[".spec.m"], [wrongType(".spec.m")]],
  [[".spec.open.x"], [wrongType(".spec.open.x")]],
  [[".spec.list"], [wrongType(".spec.list")]],
  [[".metadata.name"], [invalid(".metadata.name", "does not refer to a valid field")]],
  [[".spec.constructor"], [invalid(".spec.constructor", "does not refer to a valid field")]],
  [[".spec.a", ".spec.n", ".spec.a"], ['Duplicate value: ".spec.a"']],
])("of the selectable fields %j refuses %j", (paths, messages) => {
  const faults = validateSelectableFields(
    paths.map((jsonPath) => ({ jsonPath })),
    schema,
    "spec.selectableFields",
  );
  expect(faults.map(({ message }) => message)).toEqual(messages);
});

// Expressions that make patches, evaluated in a thread: what they make comes back as JSON.

import { expect, test } from "vitest";
import { evaluateInThread } from "./evaluate-in-thread.ts";

const evaluate = (text: string) =>
  evaluateInThread({
    text,
    values: { object: '{"data":{"k":"1"}}' },
    variables: [],
    resource: { group: "", resource: "configmaps", subresource: "", namespace: "", name: "" },
    answers: [],
    most: 10_000,
  });

test.each([
  ["Object{data: {'k': object.data.k + 'a'}, spec: Object.spec{n: 1}}", { data: { k: "1a" }, spec: { n: 1 } }],
  ["[JSONPatch{op: 'add', path: '/x', value: Object.y{z: [1, 2]}}]", [{ op: "add", path: "/x", value: { z: [1, 2] } }]],
  ["Object{?spec: optional.none(), data: {}}", { data: {} }],
])("%s", (text, made) => {
  const result = evaluate(text);
  expect(result.type === "json" && JSON.parse(result.json)).toEqual(made);
});

test("a list that stands in very many places costs as much as it would be written out", () => {
  const lists = `[[1]]${".map(a, [a, a])".repeat(40)}`;
  for (const text of [lists, `Object{data: {'k': ${lists}}}`, `[JSONPatch{op: 'add', path: '/x', value: ${lists}}]`])
    expect(evaluate(text)).toMatchObject({ type: "limit" });
});

test("an object of another type than its field is a fault of the expression", () => {
  expect(evaluate("Object{spec: Object.other{}}")).toMatchObject({
    type: "fault",
    message: expect.stringContaining('unexpected type name "Object.other", expected "Object.spec"'),
  });
});

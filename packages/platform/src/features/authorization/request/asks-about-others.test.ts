import { expect, test } from "vitest";
import { inner, names } from "../testing/memory-world.ts";
import { asksAboutOthers } from "./asks-about-others.ts";

const GROUP = names.managementGroup;
const questions = [
  ["introspect", GROUP, "selves"],
  ["create", "authentication.k8s.io", "tokenreviews"],
  ["create", "authorization.k8s.io", "subjectaccessreviews"],
  ["create", GROUP, "subjectaccessreviews"],
] as const;

test.each(questions)("%s %s %s asks about other users", (verb, apiGroup, resource) => {
  const question = { verb, apiGroup, resource };
  expect(asksAboutOthers(inner(question), names)).toBe(true);
  for (const parts of [{ subresource: "status" }, { namespace: "p-a" }, { isResourceRequest: false }]) {
    expect(asksAboutOthers(inner({ ...question, ...parts }), names)).toBe(false);
  }
});

test("no other verb, group and resource does", () => {
  const verbs = ["create", "introspect", "get", "list", "update", "*"];
  const groups = [GROUP, names.storageGroup, "authentication.k8s.io", "authorization.k8s.io", "", "*"];
  const resources = ["selves", "tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews", "users", "*"];
  const asking = verbs.flatMap((verb) =>
    groups.flatMap((apiGroup) =>
      resources
        .filter((resource) => asksAboutOthers(inner({ verb, apiGroup, resource }), names))
        .map((resource) => `${verb} ${apiGroup} ${resource}`),
    ),
  );
  expect(asking.sort()).toEqual(questions.map((question) => question.join(" ")).sort());
});

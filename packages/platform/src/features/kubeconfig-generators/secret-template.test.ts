// The annotation that remembers what a generator has set, where others have written it.

import { expect, it } from "vitest";
import { hasTemplate, withTemplate } from "./secret-template.ts";

const MARKER = "postern/kubeconfig-generator-template";
const secretOf = (labels = {}, annotations = {}) => ({ labels: { format: "x" }, template: { labels, annotations } });

it("leaves nothing behind, and has the same result twice", () => {
  const foreign = { labels: { mine: "1" }, annotations: { note: "1" } };
  const wanted = secretOf({ env: "dev" }, { owner: "ann" });
  const once = withTemplate(foreign, wanted, MARKER);
  expect(withTemplate(once, wanted, MARKER)).toEqual(once);
  expect([hasTemplate(once, wanted, MARKER), hasTemplate(foreign, wanted, MARKER)]).toEqual([true, false]);
  expect(withTemplate(once, secretOf(), MARKER)).toEqual({ ...foreign, labels: { mine: "1", format: "x" } });
});

it.each(["", "{", "null", "[]", '{"labels":"mine"}', '{"labels":[1,null],"annotations":{}}'])(
  "takes %j in its annotation as no keys",
  (text) => {
    const metadata = { labels: { mine: "1" }, annotations: { [MARKER]: text } };
    expect(withTemplate(metadata, secretOf(), MARKER)).toEqual({ labels: { mine: "1", format: "x" }, annotations: {} });
  },
);

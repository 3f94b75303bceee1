import { expect, it } from "vitest";
import { type Entry, findEntries } from "./find-entries.ts";

const entry = (kind: Entry["kind"], title: string, note = ""): Entry => ({
  id: `${kind} ${title}`,
  kind,
  title,
  note,
  to: "/",
});
const ENTRIES = [
  entry("page", "Access keys"),
  entry("action", "New access key"),
  entry("key", "Pipeline of shop-00", "shop-00-ci"),
  entry("cluster", "shop-00 / dev"),
  { ...entry("action", "Kubeconfig for shop-00 / dev"), search: { open: "kubeconfig" } },
  entry("user", "Ann Shop", "ann-0"),
];
const titles = (query: string) => findEntries(ENTRIES, query).map(({ title }) => title);

it("begins with pages and actions", () => {
  expect(titles(" ")).toEqual(["Access keys", "New access key"]);
});

it("puts what begins with the first word before what has it somewhere", () => {
  expect(titles("shop")).toEqual(["shop-00 / dev", "Pipeline of shop-00", "Kubeconfig for shop-00 / dev", "Ann Shop"]);
});

it.each([
  ["kubeconfig dev", ["Kubeconfig for shop-00 / dev"]],
  ["DEV shop", ["shop-00 / dev", "Kubeconfig for shop-00 / dev"]],
  ["ann-0", ["Ann Shop"]],
  ["nothing like this", []],
])("finds entries with all words of %s", (query, found) => {
  expect([...titles(query)].sort()).toEqual([...found].sort());
});

it("shows no more than a screen has room for", () => {
  const many = Array.from({ length: 10_000 }, (_, index) => entry("key", `key ${index}`));
  expect(findEntries(many, "key")).toHaveLength(40);
});

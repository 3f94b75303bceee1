import { expect, it } from "vitest";
import { type Entry, findEntries, sourceOf, sourceOfEntries } from "./find-entries.ts";

const entry = (kind: Entry["kind"], title: string, note = ""): Entry => ({
  id: `${kind} ${title}`,
  kind,
  title,
  note,
  to: "/",
});
const CLUSTERS = sourceOf([{ name: "shop-00 / dev" }], ({ name }) => name, [
  { prefix: "", entryOf: ({ name }) => entry("cluster", name) },
  { prefix: "Kubeconfig for ", entryOf: ({ name }) => entry("action", `Kubeconfig for ${name}`) },
]);
const SOURCES = [
  sourceOfEntries([
    entry("page", "Access keys"),
    entry("action", "New access key"),
    entry("key", "Pipeline of shop-00", "shop-00-ci"),
  ]),
  CLUSTERS,
  sourceOfEntries([entry("user", "Ann Shop", "ann-0")]),
];
const titles = (query: string) => findEntries(SOURCES, query).map(({ title }) => title);

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

it("puts what comes last behind all else, and leaves room for it", () => {
  const keys = sourceOfEntries(Array.from({ length: 100 }, (_, index) => entry("key", `kubeconfig ${index}`)));
  const pages = Array.from({ length: 10 }, (_, index) => entry("docs", `Kubeconfigs ${index}`, "guides/kubeconfigs"));
  const docs = { ...sourceOfEntries(pages), isLast: true };
  const found = findEntries([docs, keys], "kubeconfig");
  expect(found.map(({ kind }) => kind)).toEqual([...Array(34).fill("key"), ...Array(6).fill("docs")]);
  expect(findEntries([docs], "guides 3").map(({ title }) => title)).toEqual(["Kubeconfigs 3"]);
});

it("makes no more entries than a screen has room for", () => {
  let made = 0;
  const objects = Array.from({ length: 10_000 }, (_, index) => ({ name: `key ${index}` }));
  const entryOf = ({ name }: { readonly name: string }): Entry => {
    made++;
    return entry("key", name);
  };
  expect(findEntries([sourceOf(objects, ({ name }) => name, [{ prefix: "", entryOf }])], "key")).toHaveLength(40);
  expect(made).toBe(40);
});

it("finds an object by its new name once it has one", () => {
  const named = (name: string) =>
    sourceOf([{ name }], (each) => each.name, [{ prefix: "", entryOf: (each) => entry("key", each.name) }]);
  expect(findEntries([named("old")], "new")).toEqual([]);
  expect(findEntries([named("new")], "new")).toHaveLength(1);
});

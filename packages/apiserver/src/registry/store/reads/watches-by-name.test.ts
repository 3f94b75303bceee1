import { parseFieldSelector } from "@postern/apimachinery/selectors/field-selector";
import { expect, test } from "vitest";
import { createResourceKeys } from "../../../cache/resource-keys.ts";
import type { RequestContext } from "../../../context/request-context.ts";
import type { StoreContext } from "../store-context.ts";
import { watchObjects } from "./watch-objects.ts";

const OBSERVER = {
  initialState: () => {},
  event: () => {},
  initialEventsEnd: () => {},
  progress: () => {},
  error: () => {},
};

/** Where a watch asks the cache for events. */
async function followed(namespaced: boolean, namespace: string, selector: string): Promise<string[]> {
  const prefixes: string[] = [];
  const view = {
    revision: 7,
    subscribe(prefix: string) {
      prefixes.push(prefix);
      return { [Symbol.dispose]: () => {} };
    },
  };
  const keys = createResourceKeys("shop", { group: "shop.io", resource: "gadgets", namespaced });
  const store = { definition: { namespaced }, keys, view, cache: { revision: 7 } } as unknown as StoreContext;
  const query = { namespace, resourceVersion: "7", allowWatchBookmarks: false, sendInitialEvents: undefined };
  const fieldSelector = parseFieldSelector(selector);
  await watchObjects(store, {} as RequestContext, { ...query, fieldSelector } as never, OBSERVER);
  return prefixes;
}

test.each([
  [false, "", "metadata.name=one", "/registry/shop/shop.io/gadgets/one"],
  [true, "ns", "metadata.name=one", "/registry/shop/shop.io/gadgets/ns/one"],
  [true, "", "metadata.name=one", "/registry/shop/shop.io/gadgets/"],
  [true, "ns", "metadata.name!=one", "/registry/shop/shop.io/gadgets/ns/"],
  [true, "ns", "", "/registry/shop/shop.io/gadgets/ns/"],
])("a watch looks only at events of what it can select: namespaced %s in %j, %j", async (...given) => {
  const [namespaced, namespace, selector, prefix] = given;
  expect(await followed(namespaced, namespace, selector)).toEqual([prefix]);
});

// Objects that the server makes for each request, and stores nowhere. Their lists have no version: nothing can be watched from there.

import { notFoundError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject } from "../../../cache/cached-object.ts";
import { singularOf } from "../../resource-definition.ts";
import type { ResourceStorage } from "../../resource-storage.ts";
import type { StoreContext } from "../store-context.ts";
import { compileSelection } from "./selection.ts";

export function createComputedStore(
  store: StoreContext,
  compute: () => readonly KubeObject[],
): Required<Pick<ResourceStorage, "get" | "list">> {
  const { definition, keys } = store;
  const all = (): readonly CachedObject[] =>
    compute().map((object) => {
      const { namespace = "", name = "" } = object.metadata;
      return CachedObject.fromObject(keys.of(namespace, name), object);
    });
  return {
    get(_context, namespace, name) {
      const found = all().find(({ key }) => key === keys.of(namespace, name));
      // Upstream names it in the singular.
      if (found === undefined) throw notFoundError({ group: definition.group, resource: singularOf(definition) }, name);
      return found;
    },
    list(_context, query) {
      const matches = compileSelection(query, store);
      return { items: all().filter((object) => matches?.(object) ?? true), resourceVersion: "" };
    },
  };
}

// Checks new and changed objects against their schema first. A resource's own code (its strategy, what it delivers and presents, its sealed fields) relies on the
// types that the schema declares, and sees no object that does not pass. The refusal has the words and the order of the generic store.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { restoreImmutableMeta } from "@postern/apimachinery/validation/object-meta";
import type { RequestContext } from "../../context/request-context.ts";
import { type Awaitable, whenDone } from "../../runtime/awaitable.ts";
import type { Strategy } from "../strategy.ts";
import { createObject } from "./create-object.ts";
import { mergeSubresource, withoutStatus } from "./merge-subresource.ts";
import { withGenerationOf, withMeta } from "./object-meta.ts";
import { checkedVersion } from "./preconditions.ts";
import { parseResourceVersion } from "./resource-version.ts";
import type { StoreContext } from "./store-context.ts";
import { schemaErrors, validateChangedObject } from "./validate-object.ts";

/** A new object that has passed the schema. */
export function schemaCheckedNew(
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  object: KubeObject,
): Awaitable<KubeObject> {
  const submitted = withoutStatus(object, store.definition);
  return whenDone(schemaErrors(store, context, submitted), (errors) => (errors.length === 0 ? submitted : refused()));
  async function refused(): Promise<never> {
    await createObject(withoutHooks(store), context, namespace, submitted, { dryRun: true });
    throw new Error("an object that its schema refuses was taken");
  }
}

/** The same for a change. Fields that the subresource does not change are ignored, and never shown. */
export function schemaCheckedChange(
  store: StoreContext,
  context: RequestContext,
  submitted: KubeObject,
  old: KubeObject,
  subresource: string,
): Awaitable<KubeObject> {
  const merged = mergeSubresource(store.definition, subresource, submitted, old);
  return whenDone(schemaErrors(store, context, merged, old), (errors) =>
    errors.length === 0 ? withMeta(merged, submitted.metadata) : refused(),
  );
  async function refused(): Promise<never> {
    checkedVersion(store, old.metadata.name ?? "", submitted, parseResourceVersion(old.metadata.resourceVersion ?? ""));
    const restored = restoreImmutableMeta(merged.metadata, old.metadata);
    const object = withMeta(merged, withGenerationOf(restored, old.metadata));
    await validateChangedObject(withoutHooks(store), object, old, context, subresource);
    throw new Error("a change that its schema refuses was taken");
  }
}

/** The store of the same resource, with those parts of its strategy alone that are not given objects. */
function withoutHooks(store: StoreContext): StoreContext {
  const { validateName, nameWhenAbsent } = store.strategy;
  const strategy: Strategy = {
    ...(validateName === undefined ? {} : { validateName }),
    ...(nameWhenAbsent === undefined ? {} : { nameWhenAbsent }),
  };
  return { ...store, strategy };
}

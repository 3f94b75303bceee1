// Checks new and changed objects against their schema first. A resource's own code (its strategy, what it delivers and presents, its sealed fields) relies on the
// types that the schema declares, and sees no object that does not pass. The refusal has the words and the order of the generic store.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { restoreImmutableMeta } from "@postern/apimachinery/validation/object-meta";
import type { RequestContext } from "../../../context/request-context.ts";
import type { Awaitable } from "../../../runtime/awaitable.ts";
import type { Strategy } from "../../strategy.ts";
import { parseResourceVersion } from "../reads/resource-version.ts";
import type { StoreContext } from "../store-context.ts";
import { createObject } from "./create-object.ts";
import { mergeSubresource, withoutStatus } from "./merge-subresource.ts";
import { withGenerationOf, withMeta } from "./object-meta.ts";
import { checkedVersion } from "./preconditions.ts";
import { runPhases } from "./run-phases.ts";
import { checkSchema, VALIDATE_CHANGE } from "./validate-object.ts";
import { Change, Write, type WritePhase } from "./write.ts";

const CHECK: readonly WritePhase[] = [checkSchema];

/** A new object that has passed the schema. */
export function schemaCheckedNew(
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  submitted: KubeObject,
): Awaitable<KubeObject> {
  const object = withoutStatus(submitted, store.definition);
  return isPlain(store, context, object) ? object : checkNew(store, context, namespace, object);
}

async function checkNew(
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  object: KubeObject,
): Promise<KubeObject> {
  const write = new Write({ store, context, namespace, name: "", object, dryRun: true });
  await runPhases(CHECK, write);
  if (write.faults.length === 0) return object;
  await createObject(withoutHooks(store), context, namespace, object, { dryRun: true });
  throw new Error("an object that its schema refuses was taken");
}

/** The same for a change. Fields that the subresource does not change are ignored, and never shown. */
export function schemaCheckedChange(
  store: StoreContext,
  context: RequestContext,
  submitted: KubeObject,
  old: KubeObject,
  subresource: string,
): Awaitable<KubeObject> {
  const object = mergeSubresource(store.definition, subresource, submitted, old);
  return isPlain(store, context, object)
    ? withMeta(object, submitted.metadata)
    : checkChange(store, context, { submitted, object, old, subresource });
}

type Merged = {
  readonly submitted: KubeObject;
  /** The old object with the part of it that the subresource changes. */
  readonly object: KubeObject;
  readonly old: KubeObject;
  readonly subresource: string;
};

async function checkChange(
  store: StoreContext,
  context: RequestContext,
  { submitted, object, old, subresource }: Merged,
): Promise<KubeObject> {
  const { namespace = "", name = "", resourceVersion = "" } = old.metadata;
  const parts = { store, context, namespace, name, subresource, old, dryRun: true };
  const write = new Change({ ...parts, object });
  await runPhases(CHECK, write);
  if (write.faults.length === 0) return withMeta(object, submitted.metadata);
  checkedVersion(store, name, submitted, parseResourceVersion(resourceVersion));
  const restored = withGenerationOf(restoreImmutableMeta(object.metadata, old.metadata), old.metadata);
  const refused = new Change({ ...parts, store: withoutHooks(store), object: withMeta(object, restored) });
  await runPhases(VALIDATE_CHANGE, refused);
  throw new Error("a change that its schema refuses was taken");
}

/** One quick look, which nearly all objects pass. A large one is looked at in a phase, before which others get their turn. */
const isPlain = ({ validator }: StoreContext, { isLong }: RequestContext, object: KubeObject): boolean =>
  !isLong && validator.isPlain(object);

/** The store of the same resource, with those parts of its strategy alone that are not given objects. */
function withoutHooks(store: StoreContext): StoreContext {
  const { validateName, nameWhenAbsent } = store.strategy;
  const strategy: Strategy = {
    ...(validateName === undefined ? {} : { validateName }),
    ...(nameWhenAbsent === undefined ? {} : { nameWhenAbsent }),
  };
  return { ...store, strategy };
}

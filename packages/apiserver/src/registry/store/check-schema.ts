// Checks new and changed objects against their schema first. A resource's own code (its strategy, what it delivers and presents, its sealed fields) relies on the
// types that the schema declares, and sees no object that does not pass. The refusal has the words and the order of the generic store.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { restoreImmutableMeta } from "@postern/apimachinery/validation/object-meta";
import type { RequestContext } from "../../context/request-context.ts";
import type { Strategy } from "../strategy.ts";
import { createObject } from "./create-object.ts";
import { mergeSubresource, withoutStatus } from "./merge-subresource.ts";
import { withGenerationOf, withMeta } from "./object-meta.ts";
import { checkedVersion } from "./preconditions.ts";
import { parseResourceVersion } from "./resource-version.ts";
import { runPhases } from "./run-phases.ts";
import type { StoreContext } from "./store-context.ts";
import { checkSchema, lookWhetherPlain, VALIDATE_CHANGE } from "./validate-object.ts";
import { Change, Write, type WritePhase } from "./write.ts";

const CHECK_NEW: readonly WritePhase[] = [dropStatus, lookWhetherPlain, checkSchema];
const CHECK_CHANGE: readonly WritePhase<Change>[] = [merge, lookWhetherPlain, checkSchema];

/** A new object that has passed the schema. */
export async function schemaCheckedNew(
  store: StoreContext,
  context: RequestContext,
  namespace: string,
  object: KubeObject,
): Promise<KubeObject> {
  const write = new Write({ store, context, namespace, name: "", object, dryRun: true });
  await runPhases(CHECK_NEW, write);
  if (write.faults.length === 0) return write.object;
  await createObject(withoutHooks(store), context, namespace, write.object, { dryRun: true });
  throw new Error("an object that its schema refuses was taken");
}

/** The same for a change. Fields that the subresource does not change are ignored, and never shown. */
export async function schemaCheckedChange(
  store: StoreContext,
  context: RequestContext,
  submitted: KubeObject,
  old: KubeObject,
  subresource: string,
): Promise<KubeObject> {
  const { namespace = "", name = "", resourceVersion = "" } = old.metadata;
  const parts = { store, context, namespace, name, subresource, old, dryRun: true };
  const write = new Change({ ...parts, object: submitted });
  await runPhases(CHECK_CHANGE, write);
  const { object, faults } = write;
  if (faults.length === 0) return withMeta(object, submitted.metadata);
  checkedVersion(store, name, submitted, parseResourceVersion(resourceVersion));
  const restored = withGenerationOf(restoreImmutableMeta(object.metadata, old.metadata), old.metadata);
  const refused = new Change({ ...parts, store: withoutHooks(store), object: withMeta(object, restored) });
  await runPhases(VALIDATE_CHANGE, refused);
  throw new Error("a change that its schema refuses was taken");
}

function dropStatus(write: Write): void {
  write.object = withoutStatus(write.object, write.store.definition);
}

function merge(write: Change): void {
  const { store, subresource, object, old } = write;
  write.object = mergeSubresource(store.definition, subresource, object, old);
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

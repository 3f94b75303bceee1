// Dependencies of all operations of the generic store.

import type { GroupKind } from "@postern/apimachinery/meta/group-version";
import type { SchemaValidator } from "@postern/apimachinery/schema/validation/validate-schema";
import type { ResourceKeys } from "../../cache/resource-keys.ts";
import type { CacheView, WatchCache } from "../../cache/watch-cache.ts";
import type { Runtime } from "../../runtime/clock.ts";
import type { Storage } from "../../storage/storage.ts";
import type { AdmissionChain } from "../admission-plugin.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import type { Strategy } from "../strategy.ts";
import type { ContinueTokens } from "./continue-token.ts";
import type { KeyedLock } from "./keyed-lock.ts";
import type { LimitLocks } from "./limit-locks.ts";
import type { ObjectCodec } from "./object-codec.ts";
import type { ParsedObjects } from "./parsed-objects.ts";

export type StoreContext = {
  readonly definition: ResourceDefinition;
  readonly strategy: Strategy;
  readonly keys: ResourceKeys;
  readonly validator: SchemaValidator;
  readonly storage: Storage;
  readonly cache: WatchCache;
  readonly view: CacheView;
  readonly codec: ObjectCodec;
  /** The parsed objects of all resources of one API surface. */
  readonly parsed: ParsedObjects;
  readonly admission: AdmissionChain;
  readonly continueTokens: ContinueTokens;
  /** By the keys of objects. */
  readonly writeLocks: KeyedLock;
  /** By the names of limits, which resources may share. */
  readonly limitLocks: LimitLocks;
  readonly runtime: Runtime;
  /** Takes faults of hooks that run after a write, which cannot fail the request any more. */
  readonly onHookError: (error: unknown) => void;
};

export const groupKindOf = ({ definition }: StoreContext): GroupKind => ({
  group: definition.group,
  kind: definition.kind,
});

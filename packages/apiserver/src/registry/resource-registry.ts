// The resources that one API surface serves. They can be added and removed while it runs.

import type { FieldManager } from "@postern/apimachinery/managedfields/field-manager";
import type { Deprecation } from "@postern/apimachinery/schema/deprecation";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import type { AdmissionPlugin } from "../admission/admission-plugin.ts";
import type { CacheView, WatchCache } from "../cache/watch-cache.ts";
import type { Runtime } from "../runtime/clock.ts";
import type { Storage } from "../storage/storage.ts";
import { compiledSchemaOf, deprecationsOf } from "./compiled-schema.ts";
import { createGenericStore } from "./generic-store.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import { createResourceKeys, type ResourceKeys } from "./resource-keys.ts";
import type { ResourceStorage } from "./resource-storage.ts";
import type { ContinueTokens } from "./store/continue-token.ts";
import { codecOf, presentView } from "./store/object-codec.ts";
import { onlyValid } from "./store/only-valid.ts";
import type { StoreContext } from "./store/store-context.ts";

export type InstalledResource = {
  readonly definition: ResourceDefinition;
  readonly keys: ResourceKeys;
  /** What clients reach, decorations included. */
  readonly storage: ResourceStorage;
  /** Everything there is of it, for the server's own parts. */
  readonly store: Required<ResourceStorage>;
  readonly view: CacheView;
  readonly fieldManager: FieldManager;
  /** The deprecated fields of the resource's schema or of a subresource's, found once. */
  deprecationsOf(schema: StructuralSchema): readonly Deprecation[];
};

export type ResourceRegistryOptions = {
  /** Names the part of the store that holds this API surface's objects; no slash. */
  readonly composition: string;
  readonly storage: Storage;
  readonly cache: WatchCache;
  readonly admission: Required<AdmissionPlugin>;
  readonly continueTokens: ContinueTokens;
  readonly runtime: Runtime;
  readonly onHookError: (error: unknown) => void;
};

export type ResourceRegistry = {
  install(definition: ResourceDefinition): InstalledResource;
  uninstall(definition: ResourceDefinition): void;
  /** Undefined when nothing of that name is served. */
  find(group: string, version: string, plural: string): InstalledResource | undefined;
  findKind(group: string, kind: string): InstalledResource | undefined;
  readonly resources: readonly InstalledResource[];
  readonly definitions: readonly ResourceDefinition[];
  /** Goes up when the set of resources changes. */
  readonly revision: number;
};

export function createResourceRegistry(options: ResourceRegistryOptions): ResourceRegistry {
  const installed = new Map<string, InstalledResource>();
  let resources: readonly InstalledResource[] = [];
  let definitions: readonly ResourceDefinition[] = [];
  let revision = 0;

  const refresh = (): void => {
    resources = [...installed.values()];
    definitions = resources.map(({ definition }) => definition);
    revision++;
  };

  return {
    install(definition) {
      const resource = installResource(definition, options);
      installed.set(resourceId(definition.group, definition.version, definition.plural), resource);
      refresh();
      return resource;
    },
    uninstall({ group, version, plural }) {
      if (installed.delete(resourceId(group, version, plural))) refresh();
    },
    find: (group, version, plural) => installed.get(resourceId(group, version, plural)),
    findKind: (group, kind) =>
      resources.find(({ definition }) => definition.group === group && definition.kind === kind),
    get resources() {
      return resources;
    },
    get definitions() {
      return definitions;
    },
    get revision() {
      return revision;
    },
  };
}

const resourceId = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`;

function installResource(definition: ResourceDefinition, options: ResourceRegistryOptions): InstalledResource {
  const { composition, storage, cache, admission, continueTokens, runtime, onHookError } = options;
  const { group, plural } = definition.storedAs ?? definition;
  const keys = createResourceKeys(composition, { group, resource: plural, namespaced: definition.namespaced });
  const { validator, fieldManager } = compiledSchemaOf(definition);
  const records = cache.view(keys.prefix);
  const codec = codecOf(definition);
  const view = codec.show === undefined ? records : presentView(records, codec.show);
  const storeContext: StoreContext = {
    definition,
    strategy: definition.strategy ?? {},
    keys,
    validator,
    storage,
    cache,
    view,
    codec,
    admission,
    continueTokens,
    runtime,
    onHookError,
  };
  const store = createGenericStore(storeContext);
  return {
    definition,
    keys,
    store,
    storage: definition.submit === undefined ? onlyValid(definition.decorate?.(store) ?? store, storeContext) : {},
    view,
    deprecationsOf,
    fieldManager,
  };
}

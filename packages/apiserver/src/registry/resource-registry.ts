// The resources of one API surface. They can be added and removed at runtime.

import type { Deprecation } from "@postern/apimachinery/schema/deprecation";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import type { FieldManager } from "@postern/structured-merge/managedfields/field-manager";
import type { CachedObject } from "../cache/cached-object.ts";
import { createResourceKeys, type ResourceKeys } from "../cache/resource-keys.ts";
import type { CacheView, WatchCache } from "../cache/watch-cache.ts";
import type { Runtime } from "../runtime/clock.ts";
import { createSharedAbortController } from "../storage/shared-abort-controller.ts";
import type { Storage } from "../storage/storage.ts";
import type { AdmissionChain } from "./admission-plugin.ts";
import { type CompiledSchema, compiledSchemaOf, deprecationsOf } from "./compiled-schema.ts";
import type { ObjectConverter } from "./object-converter.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import type { ResourceStorage } from "./resource-storage.ts";
import { createGenericStore, createServedStore } from "./served-store.ts";
import type { ContinueTokens } from "./store/continue-token.ts";
import { type ConvertedRecords, createConvertedRecords } from "./store/conversion/converted-records.ts";
import { createConvertingStore, watchesInTurns } from "./store/conversion/converting-store.ts";
import { type ConversionMemory, ConvertedObjectBudget } from "./store/converted-object-budget.ts";
import { createKeyedLock } from "./store/keyed-lock.ts";
import { createLimitLocks, type LimitLocks } from "./store/limit-locks.ts";
import { type CodecCaller, codecOf, type ObjectCodec, PresentedView } from "./store/object-codec.ts";
import { ParsedObjects } from "./store/parsed-objects.ts";
import { createComputedStore } from "./store/reads/computed-store.ts";
import type { StoreContext } from "./store/store-context.ts";

/** A resource that is served. `genericStore` has all of its objects, for code of the server; `servedStore` is what clients see. */
export type InstalledResource = {
  readonly definition: ResourceDefinition;
  readonly keys: ResourceKeys;
  /** The store that clients reach. */
  readonly servedStore: ResourceStorage;
  /** Everything there is of it, for the server's own parts. */
  readonly genericStore: Required<ResourceStorage>;
  /** Where there is a converter: the objects as they are stored, in any version. */
  readonly view: CacheView;
  /** Brings objects to the version of the definition. Undefined where that follows from the definition alone. */
  readonly conversion: ResourceConversion | undefined;
  readonly fieldManager: FieldManager;
  /** The deprecated fields of the resource's schema or of a subresource's, found once. */
  deprecationsOf(schema: StructuralSchema): readonly Deprecation[];
  /** Aborted when the resource is no longer served in this form: its watches end, so that clients list again. */
  readonly retired: AbortSignal;
};

export type ResourceConversion = {
  /** Objects of `view`, in the same order. */
  shown(records: readonly CachedObject[], caller: CodecCaller): Promise<readonly CachedObject[]>;
  /** Objects of another version of the kind, in the same order. */
  convert: ObjectConverter["convert"];
};

export type ResourceRegistryDeps = {
  /** Names the part of the store that holds this API surface's objects; no slash. */
  readonly composition: string;
  readonly storage: Storage;
  readonly cache: WatchCache;
  readonly admission: AdmissionChain;
  readonly continueTokens: ContinueTokens;
  readonly runtime: Runtime;
  readonly onHookError: (error: unknown) => void;
  /** For objects that are kept as they are shown. Absent: as much as a cluster may store. */
  readonly conversionMemory?: ConversionMemory | undefined;
  /** Locks that all threads which serve these resources share. Absent: this thread alone serves them. */
  readonly limitLocks?: LimitLocks | undefined;
};

export type InstallOptions = {
  readonly keepWatches?: boolean;
  readonly converter?: ObjectConverter | undefined;
  readonly announced?: boolean;
};

/** The resources that a server serves. Install and uninstall them while it runs: discovery and OpenAPI follow. */
export type ResourceRegistry = {
  /**
   * Takes the place of what was installed under the same group, version and plural. The watches of that end, unless `keepWatches` says that
   * objects still look the same. `converter`: versions differ in more than what they know of. `announced: false`: requests are answered, but
   * discovery does not have it before `announce`, unless it had it before.
   */
  install(definition: ResourceDefinition, options?: InstallOptions): InstalledResource;
  /** From now on discovery has these resources. */
  announce(definitions: readonly ResourceDefinition[]): void;
  uninstall(definition: ResourceDefinition): void;
  /** Undefined when nothing of that name is served. */
  find(group: string, version: string, plural: string): InstalledResource | undefined;
  findKind(group: string, kind: string): InstalledResource | undefined;
  readonly resources: readonly InstalledResource[];
  /** Those of discovery. */
  readonly definitions: readonly ResourceDefinition[];
  /** Whether any resource of the group is served. */
  hasGroup(group: string): boolean;
  /** Goes up when the set of resources changes. */
  readonly revision: number;
  /** Calls back after every change of the set of resources, until it is disposed. */
  onChange(listener: () => void): Disposable;
};

export function createResourceRegistry(deps: ResourceRegistryDeps): ResourceRegistry {
  const installed = new Map<string, InstalledResource>();
  const retirements = new Map<string, Retirement>();
  const unannounced = new Set<string>();
  const shared = { limitLocks: deps.limitLocks ?? createLimitLocks(), parsed: new ParsedObjects() };
  const shown = new ConvertedObjectBudget(deps.conversionMemory);
  let resources: readonly InstalledResource[] = [];
  let definitions: readonly ResourceDefinition[] = [];
  let groups: ReadonlySet<string> = new Set();
  let revision = 0;
  const listeners = new Set<() => void>();

  const refresh = (): void => {
    resources = [...installed.values()];
    definitions = resources.map(({ definition }) => definition).filter((each) => !unannounced.has(idOf(each)));
    groups = new Set(resources.map(({ definition }) => definition.group));
    revision++;
  };
  const notifyListeners = (): void => {
    for (const listener of listeners) listener();
  };

  return {
    install(definition, { keepWatches = false, converter, announced = true } = {}) {
      const id = idOf(definition);
      if (!announced && !installed.has(id)) unannounced.add(id);
      if (announced) unannounced.delete(id);
      const before = retirements.get(id);
      const retirement = keepWatches && before !== undefined ? before : new Retirement();
      const resource = new LazyResource(definition, deps, shared, { retirement, converter, shown });
      installed.set(id, resource);
      retirements.set(id, retirement);
      refresh();
      if (before !== retirement) before?.abort();
      notifyListeners();
      return resource;
    },
    announce(announced) {
      const changed = announced.filter((definition) => unannounced.delete(idOf(definition)));
      if (changed.length === 0) return;
      refresh();
      notifyListeners();
    },
    uninstall(definition) {
      const id = idOf(definition);
      if (!installed.delete(id)) return;
      unannounced.delete(id);
      refresh();
      retirements.get(id)?.abort();
      retirements.delete(id);
      notifyListeners();
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
    hasGroup: (group) => groups.has(group),
    get revision() {
      return revision;
    },
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}

const idOf = ({ group, version, plural }: ResourceDefinition): string => resourceId(group, version, plural);

const resourceId = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`;

type Shared = Pick<StoreContext, "limitLocks" | "parsed">;
type LazyResourceOptions = {
  readonly retirement: Retirement;
  readonly converter: ObjectConverter | undefined;
  readonly shown: ConvertedObjectBudget;
};

/**
 * Most resources of most clusters are never asked for, and there may be a thousand clusters with a hundred resources each: what serves one is
 * made when it is first used.
 */
class LazyResource implements InstalledResource {
  readonly definition: ResourceDefinition;
  readonly keys: ResourceKeys;
  readonly view: CacheView;
  readonly #records: CacheView;
  readonly #shown: ConvertedObjectBudget;
  readonly #deps: ResourceRegistryDeps;
  readonly #shared: Shared;
  readonly conversion: ResourceConversion | undefined;
  readonly #codec: ObjectCodec;
  readonly #converted: ConvertedRecords | undefined;
  readonly #retirement: Retirement;
  #served: Pick<InstalledResource, "genericStore" | "servedStore"> | undefined;
  #compiledOnce: CompiledSchema | undefined;

  constructor(
    definition: ResourceDefinition,
    deps: ResourceRegistryDeps,
    shared: Shared,
    { retirement, converter, shown }: LazyResourceOptions,
  ) {
    const { group, plural } = definition.storedAs ?? definition;
    this.definition = definition;
    this.keys = createResourceKeys(deps.composition, { group, resource: plural, namespaced: definition.namespaced });
    this.#deps = deps;
    this.#shared = shared;
    this.#retirement = retirement;
    const records = deps.cache.view(this.keys.prefix);
    this.#records = records;
    this.#shown = shown;
    this.#converted = converter && createConvertedRecords(definition, converter, records, shown);
    this.conversion = converter && {
      shown: async (objects, caller) => (await this.#converted?.of(objects, caller)) ?? objects,
      convert: (...call) => converter.convert(...call),
    };
    this.#codec = this.#converted?.codec ?? codecOf(definition);
    const { show } = this.#codec;
    this.view = show === undefined ? records : new PresentedView(records, (record) => show(record, shown));
  }

  get genericStore(): Required<ResourceStorage> {
    return this.#serving.genericStore;
  }

  get servedStore(): ResourceStorage {
    return this.#serving.servedStore;
  }

  get fieldManager(): FieldManager {
    return this.#compiled.fieldManager;
  }

  get retired(): AbortSignal {
    return this.#retirement.signal;
  }

  deprecationsOf(schema: StructuralSchema): readonly Deprecation[] {
    return deprecationsOf(schema);
  }

  /** Which compiled schema a definition shares is found by much of it, and asked with every write. */
  get #compiled(): CompiledSchema {
    this.#compiledOnce ??= compiledSchemaOf(this.definition);
    return this.#compiledOnce;
  }

  get #serving(): Pick<InstalledResource, "genericStore" | "servedStore"> {
    this.#served ??= this.#serve();
    return this.#served;
  }

  #serve(): Pick<InstalledResource, "genericStore" | "servedStore"> {
    const { definition, keys, view } = this;
    const { storage, cache, admission, continueTokens, runtime, onHookError } = this.#deps;
    const storeContext: StoreContext = {
      definition,
      strategy: definition.strategy ?? {},
      keys,
      validator: this.#compiled.validator,
      storage,
      cache,
      view,
      codec: this.#codec,
      admission,
      continueTokens,
      ...this.#shared,
      writeLocks: createKeyedLock(),
      runtime,
      onHookError,
    };
    const converted = this.#converted;
    const genericStore =
      converted === undefined ? this.#showing(storeContext) : createConvertingStore(storeContext, converted);
    return { genericStore, servedStore: servedStoreOf(genericStore, storeContext) };
  }

  #showing(store: StoreContext): Required<ResourceStorage> {
    const generic = createGenericStore(store);
    const { show, isShown } = this.#codec;
    if (show === undefined || isShown === undefined) return generic;
    return { ...generic, watch: watchesInTurns({ ...store, view: this.#records }, { show, isShown }, this.#shown) };
  }
}

function servedStoreOf(generic: Required<ResourceStorage>, store: StoreContext): ResourceStorage {
  const { submit, compute } = store.definition;
  if (compute !== undefined) return createComputedStore(store, compute);
  return submit === undefined ? createServedStore(generic, store) : {};
}

/** The end of a resource. Creates its signal on first use. */
class Retirement {
  #controller: AbortController | undefined;
  #isOver = false;

  get signal(): AbortSignal {
    this.#controller ??= createSharedAbortController();
    if (this.#isOver) this.#controller.abort();
    return this.#controller.signal;
  }

  abort(): void {
    this.#isOver = true;
    this.#controller?.abort();
  }
}

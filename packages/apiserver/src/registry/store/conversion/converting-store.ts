// The generic store of a resource whose objects are brought to its version: by a converter, what an operation looks at is converted first; by this
// process, what watches are sent, in turns.

import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "../../../cache/cached-object.ts";
import type { CacheEvent, CacheListOptions, CacheView } from "../../../cache/watch-cache.ts";
import type { RequestContext } from "../../../context/request-context.ts";
import { LONG_WORK_BYTES } from "../../../limits/long-work.ts";
import type { Awaitable } from "../../../runtime/awaitable.ts";
import type { Revision } from "../../../storage/storage.ts";
import type { ResourceStorage, WatchEventObserver, WatchQuery } from "../../resource-storage.ts";
import type { ConvertedObjectBudget } from "../converted-object-budget.ts";
import type { CodecCaller, ObjectCodec } from "../object-codec.ts";
import { getObject } from "../reads/get-object.ts";
import { listObjects } from "../reads/list-objects.ts";
import { compileSelection } from "../reads/selection.ts";
import { deliver, selects, watchRecords } from "../reads/watch-objects.ts";
import type { StoreContext } from "../store-context.ts";
import { createObject } from "../writes/create-object.ts";
import { deleteCollection } from "../writes/delete-collection.ts";
import { deleteObject } from "../writes/delete-object.ts";
import { updateObject } from "../writes/update-object.ts";
import type { ConvertedRecords } from "./converted-records.ts";

/** Events of one watch that wait for their conversion. Beyond that it ends, as that of a client that does not read. */
const MAX_WAITING = 5_000;

/** The view of `store` has records as they are stored. */
export function createConvertingStore(store: StoreContext, converted: ConvertedRecords): Required<ResourceStorage> {
  /**
   * An operation of the generic store does all its reads at once, before it changes anything. If a record has not been converted, the
   * operation restarts after the conversion, and finds the same as the first time.
   */
  async function withConverted<T>(context: RequestContext, operate: (store: StoreContext) => Awaitable<T>): Promise<T> {
    const view = new ConvertedView(store.view, converted);
    for (;;) {
      try {
        return await operate({ ...store, view });
      } catch (error) {
        if (!(error instanceof UnconvertedError)) throw error;
        await converted.of(error.records, context);
      }
    }
  }

  return {
    get: (context, ...request) => withConverted(context, (own) => getObject(own, context, ...request)),
    list: (context, query) => withConverted(context, (own) => listObjects(own, context, query)),
    watch: (...request) => watchConverted(store, fromConverter(converted), ...request),
    // A create asks only whether the object exists.
    create: (...request) => createObject(store, ...request),
    update: (context, ...request) => withConverted(context, (own) => updateObject(own, context, ...request)),
    delete: (context, ...request) => withConverted(context, (own) => deleteObject(own, context, ...request)),
    deleteCollection: (context, ...request) =>
      withConverted(context, (own) => deleteCollection(own, context, ...request)),
  };
}

/** Some of these records are looked at and have not been converted. */
class UnconvertedError extends Error {
  override readonly name = "UnconvertedError";
  readonly records: readonly CachedObject[];

  constructor(records: readonly CachedObject[]) {
    super("records have not been converted");
    this.records = records;
  }
}

/** View of one operation: it keeps its reads across restarts. Labels are not indexed, since a conversion may change them. */
class ConvertedView implements CacheView {
  readonly #records: CacheView;
  readonly #converted: ConvertedRecords;
  readonly #gets = new Map<string, CachedObject | undefined>();
  readonly #lists = new Map<string, readonly CachedObject[]>();
  /** The revisions of the state that was read first. */
  #read: { readonly revision: Revision; readonly changedRevision: Revision } | undefined;

  constructor(records: CacheView, converted: ConvertedRecords) {
    this.#records = records;
    this.#converted = converted;
  }

  get revision(): Revision {
    return this.#read?.revision ?? this.#records.revision;
  }

  get changedRevision(): Revision {
    return this.#read?.changedRevision ?? this.#records.changedRevision;
  }

  get size(): number {
    return this.#records.size;
  }

  count(...call: Parameters<CacheView["count"]>): number {
    return this.#records.count(...call);
  }

  get(key: string): CachedObject | undefined {
    if (!this.#gets.has(key)) this.#keep(key, this.#records.get(key));
    const record = this.#gets.get(key);
    return record === undefined ? undefined : this.#show([record])[0];
  }

  list(prefix: string, options: CacheListOptions = {}): readonly CachedObject[] {
    const id = JSON.stringify([prefix, options.startAfter, options.limit]);
    const records = this.#lists.get(id) ?? this.#records.list(prefix, options);
    if (!this.#lists.has(id)) {
      this.#lists.set(id, records);
      for (const record of records) if (!this.#gets.has(record.key)) this.#keep(record.key, record);
    }
    return this.#show(records);
  }

  /** Watches look at records, and convert them as they are sent. */
  subscribe(): never {
    throw new Error("an operation that ends has no events");
  }

  #keep(key: string, record: CachedObject | undefined): void {
    this.#read ??= { revision: this.#records.revision, changedRevision: this.#records.changedRevision };
    this.#gets.set(key, record);
  }

  #show(records: readonly CachedObject[]): readonly CachedObject[] {
    const shown = records.map((record) => this.#converted.known(record));
    const unknown = records.filter((_, index) => shown[index] === undefined);
    if (unknown.length > 0) throw new UnconvertedError(unknown);
    return shown.filter((object) => object !== undefined);
  }
}

/** Brings the records of a watch to its version. */
type WatchedRecords = {
  /** False: it takes a turn of the event loop, or an answer from elsewhere. */
  isAtHand(record: CachedObject): boolean;
  /** Resolves when they are at hand. */
  prepare(records: readonly CachedObject[], caller: CodecCaller): Promise<void>;
  /** The shown form of a record that has been prepared, if it had to be. */
  shown(record: CachedObject): CachedObject;
};

const fromConverter = (converted: ConvertedRecords): WatchedRecords => ({
  isAtHand: (record) => converted.known(record) !== undefined,
  async prepare(records, caller) {
    await converted.of(records, caller);
  },
  shown: (record) => converted.known(record) ?? record,
});

/** Records that this process brings to another version: each long one in a turn of its own, for all watches of the version. */
function inTurns(codec: ShowingCodec, memory: ConvertedObjectBudget): WatchedRecords {
  const isAtHand = (record: CachedObject): boolean => record.byteLength < LONG_WORK_BYTES || codec.isShown(record);
  const shown = (record: CachedObject): CachedObject => codec.show(record, memory);
  return {
    isAtHand,
    async prepare(records, caller) {
      for (const record of records) {
        if (isAtHand(record)) continue;
        caller.weigh(record.byteLength);
        await caller.pause();
        caller.signal.throwIfAborted();
        if (!isAtHand(record)) shown(record);
      }
    },
    shown,
  };
}

type ShowingCodec = Required<Pick<ObjectCodec, "show" | "isShown">>;

/** Watches of a version, of which there may be many. `store` has records as they are stored. */
export function watchesInTurns(
  store: StoreContext,
  codec: ShowingCodec,
  memory: ConvertedObjectBudget,
): Required<ResourceStorage>["watch"] {
  const records = inTurns(codec, memory);
  return (...request) => watchConverted(store, records, ...request);
}

/**
 * Converts what the watch begins with as its client takes it, and events in the order in which they have come. Which events the client gets is decided when
 * they come: a record that it reads later it reads as it is then. A conversion that fails ends the watch, as upstream.
 */
async function watchConverted(
  store: StoreContext,
  converted: WatchedRecords,
  context: RequestContext,
  query: WatchQuery,
  observer: WatchEventObserver,
): Promise<Disposable> {
  const matches = compileSelection(query, store);
  const queue = createConversionQueue(converted, context, (error) => {
    watch?.[Symbol.dispose]();
    observer.error(error);
  });
  const { shown } = converted;
  const present = (event: CacheEvent): CacheEvent => {
    if (event.type === "delete") {
      const previous = shown(event.previous);
      return { type: "delete", object: previous.atRevision(event.object.revision), previous };
    }
    const { object, previous } = event;
    return { type: "put", object: shown(object), previous: previous === undefined ? undefined : shown(previous) };
  };
  let watch: Disposable | undefined;
  watch = await watchRecords(store, context, query, undefined, {
    initialState(read) {
      observer.initialState(async (bytes) => {
        const records = read(bytes);
        if (records !== undefined) {
          await converted.prepare(records, context);
          return records.map(shown).filter((object) => selects(matches, object));
        }
        const endsAt = String(store.view.revision);
        // Events of revisions before may wait for their conversion.
        await queue.drained();
        observer.initialEventsEnd(endsAt);
        return undefined;
      });
    },
    events: (events) => queue.put(events.flatMap(recordsOf), () => deliver(events.map(present), matches, observer)),
    progress: (resourceVersion) => queue.put([], () => observer.progress(resourceVersion)),
    error: (error) => queue.put([], () => queue.end(error)),
  });
  const begun = watch;
  if (queue.isOver()) begun[Symbol.dispose]();
  return {
    [Symbol.dispose]() {
      queue.end();
      begun[Symbol.dispose]();
    },
  };
}

type ConversionQueue = {
  /** `deliver` is called when the records have been converted, and all that was put before has been delivered. */
  put(records: readonly CachedObject[], deliver: () => void): void;
  /** Resolves when all has been delivered that has been put, or nothing will be any more. */
  drained(): Promise<void>;
  /** Delivers nothing any more. With an error calls back with it, unless it has ended before. */
  end(error?: Error): void;
  isOver(): boolean;
};

function createConversionQueue(
  converted: WatchedRecords,
  context: RequestContext,
  onError: (error: Error) => void,
): ConversionQueue {
  const queue: { readonly records: readonly CachedObject[]; deliver(): void }[] = [];
  let finish: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    finish = resolve;
  });
  let waiting = 0;
  let isRunning = false;
  let isOver = false;

  const end = (error?: Error): void => {
    if (isOver) return;
    isOver = true;
    queue.length = 0;
    finish();
    if (error !== undefined) onError(error);
  };
  const put = (records: readonly CachedObject[], deliver: () => void): void => {
    if (isOver) return;
    queue.push({ records, deliver });
    waiting += records.length;
    if (waiting > MAX_WAITING) end(tooSlowError());
    else if (!isRunning) void run();
  };
  async function run(): Promise<void> {
    isRunning = true;
    try {
      while (queue.length > 0) {
        const items = queue.splice(0);
        const records = items.flatMap((item) => item.records);
        // A record that is at hand is delivered in the turn in which it comes.
        const wanted = records.filter((record) => !converted.isAtHand(record));
        if (wanted.length > 0) await converted.prepare(wanted, context);
        waiting -= records.length;
        for (const item of items) if (!isOver) item.deliver();
      }
    } catch (error) {
      end(error instanceof Error ? error : new Error(String(error)));
    } finally {
      isRunning = false;
    }
  }
  return {
    put,
    drained: () => Promise.race([ended, new Promise<void>((resolve) => put([], resolve))]),
    end,
    isOver: () => isOver,
  };
}

const recordsOf = (event: CacheEvent): readonly CachedObject[] =>
  [event.type === "put" ? event.object : undefined, event.previous].filter((object) => object !== undefined);

const tooSlowError = (): ApiError =>
  new ApiError({
    code: 410,
    reason: "Expired",
    message: "the conversion does not keep up with the changes: list again, and watch from there",
  });

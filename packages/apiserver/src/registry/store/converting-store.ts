// The generic store of a resource whose objects a converter brings to its version: what an operation looks at is converted first.

import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "../../cache/cached-object.ts";
import type { CacheEvent, CacheListOptions, CacheObserver, CacheView } from "../../cache/watch-cache.ts";
import type { RequestContext } from "../../context/request-context.ts";
import type { Awaitable } from "../../runtime/awaitable.ts";
import type { Revision } from "../../storage/storage.ts";
import type { ResourceStorage, WatchEventObserver } from "../resource-storage.ts";
import type { ConvertedRecords } from "./converted-records.ts";
import { createObject } from "./create-object.ts";
import { deleteCollection, deleteObject } from "./delete-object.ts";
import { getObject } from "./get-object.ts";
import { listObjects } from "./list-objects.ts";
import type { StoreContext } from "./store-context.ts";
import { updateObject } from "./update-object.ts";
import { watchObjects } from "./watch-objects.ts";

/** Events of one watch that wait for their conversion. Beyond that it ends, as that of a client that does not read. */
const MAX_WAITING = 5_000;

const PAGE_BYTES = 1 << 20;

/** The view of `store` has records as they are stored. */
export function createConvertingStore(store: StoreContext, converted: ConvertedRecords): Required<ResourceStorage> {
  /**
   * What an operation of the generic store reads it reads at once, before it changes anything. Where that has not been converted, the
   * operation begins again when it has been, and finds the same as the first time.
   */
  async function withConverted<T>(context: RequestContext, operate: (store: StoreContext) => Awaitable<T>): Promise<T> {
    const view = new ConvertedView(store.view, converted, context);
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
    watch: (context, query, observer) =>
      withConverted(context, (own) => watchObjects(own, context, query, readingAtOnce(observer))),
    // Of what is there already it asks whether it is there.
    create: (...request) => createObject(store, ...request),
    update: (context, ...request) => withConverted(context, (own) => updateObject(own, context, ...request)),
    delete: (context, ...request) => withConverted(context, (own) => deleteObject(own, context, ...request)),
    deleteCollection: (context, ...request) =>
      withConverted(context, (own) => deleteCollection(own, context, ...request)),
  };
}

/** Conversions are waited for before the watch begins: all of the state that it begins with is read then. */
function readingAtOnce(observer: WatchEventObserver): WatchEventObserver {
  let endsAt = "";
  return {
    initialState(read) {
      const objects: CachedObject[] = [];
      for (let page = read(PAGE_BYTES); page !== undefined; page = read(PAGE_BYTES)) objects.push(...page);
      let taken = 0;
      observer.initialState((bytes) => {
        const from = taken;
        for (let size = 0; taken < objects.length && size < bytes; taken++) size += objects[taken]?.byteLength ?? 0;
        if (taken > from) return objects.slice(from, taken);
        observer.initialEventsEnd(endsAt);
        return undefined;
      });
    },
    initialEventsEnd(resourceVersion) {
      endsAt = resourceVersion;
    },
    event: (type, object) => observer.event(type, object),
    progress: (resourceVersion) => observer.progress(resourceVersion),
    error: (error) => observer.error(error),
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

/** What one operation sees: it keeps what it has read, however often it begins. Labels are not indexed, since a conversion may change them. */
class ConvertedView implements CacheView {
  readonly #records: CacheView;
  readonly #converted: ConvertedRecords;
  readonly #context: RequestContext;
  readonly #gets = new Map<string, CachedObject | undefined>();
  readonly #lists = new Map<string, readonly CachedObject[]>();
  /** Of what was read first. */
  #read: { readonly revision: Revision; readonly changedRevision: Revision } | undefined;

  constructor(records: CacheView, converted: ConvertedRecords, context: RequestContext) {
    this.#records = records;
    this.#converted = converted;
    this.#context = context;
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

  subscribe(prefix: string, fromRevision: Revision, observer: CacheObserver): Disposable {
    return subscribeConverted(this.#records, { prefix, fromRevision, observer }, this.#converted, this.#context);
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

type ViewSubscription = {
  readonly prefix: string;
  readonly fromRevision: Revision;
  readonly observer: CacheObserver;
};

type Waiting = { readonly records: readonly CachedObject[]; deliver(): void };

/** In the order in which everything has come. Ends with the error of the conversion where one fails, as upstream. */
function subscribeConverted(
  records: CacheView,
  { prefix, fromRevision, observer }: ViewSubscription,
  converted: ConvertedRecords,
  context: RequestContext,
): Disposable {
  const queue: Waiting[] = [];
  let waiting = 0;
  let isRunning = false;
  let isOver = false;
  let inner: Disposable | undefined;

  const end = (error: Error): void => {
    if (isOver) return;
    isOver = true;
    inner?.[Symbol.dispose]();
    observer.error(error);
  };
  const put = (of: readonly CachedObject[], deliver: () => void): void => {
    if (isOver) return;
    queue.push({ records: of, deliver });
    waiting += of.length;
    if (waiting > MAX_WAITING) end(tooSlowError());
    else if (!isRunning) void run();
  };
  async function run(): Promise<void> {
    isRunning = true;
    try {
      while (queue.length > 0 && !isOver) {
        const items = queue.splice(0);
        const wanted = items.flatMap((item) => item.records);
        if (wanted.length > 0) await converted.of(wanted, context);
        waiting -= wanted.length;
        for (const item of items) if (!isOver) item.deliver();
      }
    } catch (error) {
      end(error instanceof Error ? error : new Error(String(error)));
    } finally {
      isRunning = false;
    }
  }

  const shown = (record: CachedObject): CachedObject => converted.known(record) ?? record;
  const present = (event: CacheEvent): CacheEvent => {
    if (event.type === "delete") {
      const previous = shown(event.previous);
      return { type: "delete", object: previous.atRevision(event.object.revision), previous };
    }
    const { object, previous } = event;
    return { type: "put", object: shown(object), previous: previous === undefined ? undefined : shown(previous) };
  };
  inner = records.subscribe(prefix, fromRevision, {
    events: (events) => put(events.flatMap(recordsOf), () => observer.events(events.map(present))),
    progress: (revision) => put([], () => observer.progress?.(revision)),
    error: (error) => put([], () => end(error)),
  });
  return {
    [Symbol.dispose]() {
      isOver = true;
      inner?.[Symbol.dispose]();
    },
  };
}

const recordsOf = (event: CacheEvent): readonly CachedObject[] =>
  [event.type === "put" ? event.object : undefined, event.previous].filter((object) => object !== undefined);

const tooSlowError = (): ApiError =>
  new ApiError({
    code: 410,
    reason: "Expired",
    message: "the conversion webhook does not keep up with the changes: list again, and watch from there",
  });

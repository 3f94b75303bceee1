// The store that clients reach: the generic store, with the wrappers that the resource's definition declares, in this one order.
//
//   schema         rejects invalid objects before any other code of the resource sees them (store/check-schema.ts)
//   visibility     hides the objects that the caller must not know of
//   the write      the generic store
//   deliver, warn  run after a write, before it is answered
//   present        adds the computed fields of an object; extend: adds further fields in reads only

import { notFoundError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "../cache/cached-object.ts";
import type { RequestContext } from "../context/request-context.ts";
import { type Awaitable, whenDone } from "../runtime/awaitable.ts";
import type { CommittedWrite } from "./committed-write.ts";
import { groupResourceOf, type ResourceDefinition } from "./resource-definition.ts";
import type { ListPage, ResourceStorage, Selection, UpdateRequest } from "./resource-storage.ts";
import { getObject } from "./store/reads/get-object.ts";
import { listObjects } from "./store/reads/list-objects.ts";
import { watchObjects } from "./store/reads/watch-objects.ts";
import { narrowed, watchVisible } from "./store/reads/watch-visible.ts";
import type { StoreContext } from "./store/store-context.ts";
import { schemaCheckedChange, schemaCheckedNew } from "./store/writes/check-schema.ts";
import { createObject } from "./store/writes/create-object.ts";
import { deleteCollection } from "./store/writes/delete-collection.ts";
import { deleteObject } from "./store/writes/delete-object.ts";
import { type Phase, runPhases } from "./store/writes/run-phases.ts";
import { updateObject } from "./store/writes/update-object.ts";

export function createServedStore(generic: Required<ResourceStorage>, store: StoreContext): Required<ResourceStorage> {
  const { definition } = store;
  const { visibility, present, extend } = definition;
  const absent = (name: string) => notFoundError(groupResourceOf(definition), name);

  const presented = (object: CachedObject): CachedObject => present?.(object) ?? object;
  const shown = (object: CachedObject, context: RequestContext): Awaitable<CachedObject> =>
    extend === undefined ? presented(object) : extend(presented(object), context);

  const visible = (context: RequestContext, name: string, object: CachedObject): Awaitable<CachedObject> => {
    const show = (may: boolean): Awaitable<CachedObject> => {
      if (!may) throw absent(name);
      return shown(object, context);
    };
    const may = visibility?.mayGet?.(context, object) ?? true;
    return may instanceof Promise ? may.then(show) : show(may);
  };

  const select = <Q extends Selection>(context: RequestContext, query: Q): Awaitable<Q> =>
    visibility === undefined ? query : whenDone(visibility.visibleTo(context), (visible) => narrowed(query, visible));

  const shownPage = (page: ListPage, context: RequestContext): Awaitable<ListPage> => {
    if (present === undefined && extend === undefined) return page;
    if (extend === undefined) {
      return { ...page, items: definition.presentList?.(page.items) ?? page.items.map(presented) };
    }
    return Promise.all(page.items.map((object) => shown(object, context))).then((items) => ({ ...page, items }));
  };

  const mayChange = (context: RequestContext, object: KubeObject): Awaitable<boolean> =>
    visibility?.mayChange?.(context, object) ?? true;

  /** Before anything is said about an object that the caller must not know of, such as its uid. */
  const checkKnown = (context: RequestContext, namespace: string, name: string): Awaitable<void> => {
    if (visibility?.mayChange === undefined) return;
    const known = store.view.get(store.keys.of(namespace, name));
    if (known === undefined) return;
    return whenDone(mayChange(context, store.parsed.of(known)), (may) => {
      if (!may) throw absent(name);
    });
  };

  /** Runs after a write, before it is answered. */
  const finish = (context: RequestContext, namespace: string, write: Omit<CommittedWrite, "undo">) => {
    const undo = async (): Promise<void> => {
      const { name = "", uid = "" } = write.object.decode().metadata;
      // A requester that hangs up stops nothing.
      const { signal } = new AbortController();
      await generic.delete(context.with({ signal }), namespace, name, { dryRun: false, preconditions: { uid } });
    };
    const finishing = { context, definition, write: { ...write, undo }, object: write.object, isSent: true };
    return whenDone(runPhases(FINISH, finishing), () => finishing.object);
  };

  const watched = { visibility, present: present && oncePerTurn(present) };

  return {
    get(context, namespace, name, options) {
      const found = generic.get(context, namespace, name, options);
      return found instanceof Promise
        ? found.then((object) => visible(context, name, object))
        : visible(context, name, found);
    },

    list: (context, query) =>
      whenDone(select(context, query), (selected) =>
        whenDone(generic.list(context, selected), (page) => shownPage(page, context)),
      ),

    watch: (context, query, observer) => watchVisible(watched, generic.watch, { context, query, observer }),

    async create(context, namespace, object, options) {
      const checked = schemaCheckedNew(store, context, namespace, object);
      const submitted = checked instanceof Promise ? await checked : checked;
      const created = await generic.create(context, namespace, submitted, options);
      const write = { verb: "create", object: created, submitted, created: true, dryRun: options.dryRun } as const;
      return await finish(context, namespace, write);
    },

    async update(context, namespace, name, request, options) {
      const checking = checkKnown(context, namespace, name);
      if (checking !== undefined) await checking;
      const { createWhenAbsent, subresource } = request;
      let submitted: KubeObject | undefined;
      const checked: UpdateRequest = {
        ...request,
        transform(current) {
          const changed = whenDone(mayChange(context, current), (may) => {
            if (!may) throw absent(name);
            return request.transform(current);
          });
          const valid = whenDone(changed, (object) =>
            schemaCheckedChange(store, context, object, current, subresource),
          );
          return whenDone(valid, (object) => {
            submitted = object;
            return object;
          });
        },
        ...(createWhenAbsent === undefined
          ? {}
          : {
              async createWhenAbsent() {
                submitted = await schemaCheckedNew(store, context, namespace, await createWhenAbsent());
                return submitted;
              },
            }),
      };
      const { object, created } = await generic.update(context, namespace, name, checked, options);
      if (submitted === undefined) throw new Error("an object was written that nobody has made");
      const write = { verb: "update", object, submitted, created, dryRun: options.dryRun } as const;
      return { object: await finish(context, namespace, write), created };
    },

    async delete(context, namespace, name, options) {
      if (visibility?.mayChange === undefined) return await generic.delete(context, namespace, name, options);
      const object = (await generic.get(context, namespace, name, { resourceVersion: "" })).decode();
      if (!(await mayChange(context, object))) throw absent(name);
      // Another object that has taken the name meanwhile is not deleted.
      const uid = options.preconditions?.uid ?? object.metadata.uid ?? "";
      return await generic.delete(context, namespace, name, {
        ...options,
        preconditions: { ...options.preconditions, uid },
      });
    },

    deleteCollection: async (context, query, options) =>
      await generic.deleteCollection(context, await select(context, query), options),
  };
}

type Finishing = {
  readonly context: RequestContext;
  readonly definition: ResourceDefinition;
  readonly write: CommittedWrite;
  readonly isSent: boolean;
  /** As it is shown. */
  object: CachedObject;
};

const FINISH: readonly Phase<Finishing>[] = [deliver, warn, presentWritten];

function deliver(finishing: Finishing): Awaitable<void> {
  const { definition, write, context, object } = finishing;
  return whenDone(definition.deliver?.(write, context), (shown = object) => {
    finishing.object = shown;
  });
}

function warn({ definition, object, context }: Finishing): Awaitable<void> {
  return definition.warnOfWrite?.(object, context);
}

function presentWritten(finishing: Finishing): void {
  const { definition, object } = finishing;
  finishing.object = definition.present?.(object) ?? object;
}

/** All watches get an event in the same turn of the event loop: they share what is shown of its object, and its line. */
function oncePerTurn(present: (object: CachedObject) => CachedObject): (object: CachedObject) => CachedObject {
  const shown = new Map<CachedObject, CachedObject>();
  return (object) => {
    if (shown.size === 0) setImmediate(() => shown.clear());
    const result = shown.get(object) ?? present(object);
    shown.set(object, result);
    return result;
  };
}

/** Every resource has this store. Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go */
export function createGenericStore(store: StoreContext): Required<ResourceStorage> {
  return {
    get: (...request) => getObject(store, ...request),
    list: (...request) => listObjects(store, ...request),
    watch: (...request) => watchObjects(store, ...request),
    create: (...request) => createObject(store, ...request),
    update: (...request) => updateObject(store, ...request),
    delete: (...request) => deleteObject(store, ...request),
    deleteCollection: (...request) => deleteCollection(store, ...request),
  };
}

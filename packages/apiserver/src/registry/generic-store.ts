// The one store of all resources: a ResourceStorage driven by a definition and its strategy.
// Source: k8s.io/apiserver/pkg/registry/generic/registry/store.go

import type { ResourceStorage } from "./resource-storage.ts";
import { createObject } from "./store/create-object.ts";
import { deleteCollection } from "./store/delete-collection.ts";
import { deleteObject } from "./store/delete-object.ts";
import { getObject } from "./store/get-object.ts";
import { listObjects } from "./store/list-objects.ts";
import type { StoreContext } from "./store/store-context.ts";
import { updateObject } from "./store/update-object.ts";
import { watchObjects } from "./store/watch-objects.ts";

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

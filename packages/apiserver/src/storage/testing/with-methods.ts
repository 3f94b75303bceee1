// A real store of which a test does some methods itself.

import type { Storage } from "../storage.ts";

/** The store, with other methods in place of some. */
export const withMethods = (storage: Storage, methods: Partial<Storage>): Storage =>
  new Proxy(storage, {
    get(target, name) {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name, target);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });

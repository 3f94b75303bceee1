// Behaviour that clients may expect of every resource, whatever it is about: each definition runs this one suite.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { ResourceDefinition, ResourceVerb } from "@postern/apiserver/registry/resource-definition";
import { createSuiteClient, type SuiteClient } from "@postern/apiserver/registry/testing/suite-client";
import { afterEach, beforeEach, describe, it } from "vitest";
import { describeOwnership } from "./ownership-cases.ts";
import { describeReads } from "./read-cases.ts";
import { openSuiteSurface, type SuiteSurface } from "./suite-surface.ts";
import { describeWrites } from "./write-cases.ts";

export type ResourceSuiteOptions = {
  /** A valid object of this name as a client sends it; apiVersion and kind are filled in. */
  readonly valid: (name: string) => JsonObject & { readonly metadata: JsonObject };
  /** A merge patch that changes what is wanted, in a way that may follow `valid`. */
  readonly change: JsonObject;
  /** Whether the change raises the generation. Default true; false where `change` is all metadata. */
  readonly changesGeneration?: boolean;
  /** A surface that serves the resource, with all that `valid` refers to. Default: a bare cluster with the resource. */
  readonly open?: () => Promise<SuiteSurface>;
  /** Default: "default". */
  readonly namespace?: string;
  /** Called before each case, for objects that must be there. */
  readonly setup?: (client: SuiteClient, surface: SuiteSurface) => Promise<void>;
  /** Cases that cannot hold, by their text: the reason is printed with the skipped case. */
  readonly skip?: { readonly [name: string]: string };
};

/** Context that the cases work with; `client` changes with every case. */
export type ResourceSuiteContext = {
  readonly definition: ResourceDefinition;
  readonly options: ResourceSuiteOptions;
  readonly client: SuiteClient;
  /** A complete object, with more metadata. */
  object(name: string, metadata?: JsonObject): JsonObject;
  serves(...verbs: readonly ResourceVerb[]): boolean;
  /** A case that runs where all of `verbs` are served. */
  test(name: string, verbs: readonly ResourceVerb[], run: () => Promise<void>): void;
};

const ALL_VERBS: readonly ResourceVerb[] = [
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
];

export function describeResource(definition: ResourceDefinition, options: ResourceSuiteOptions): void {
  const { group, version, kind, plural, verbs = ALL_VERBS } = definition;
  const { skip = {}, open = () => openSuiteSurface([definition]), namespace = "default" } = options;
  describe(`${plural}${group === "" ? "" : `.${group}`} as any resource`, () => {
    let surface: SuiteSurface;
    let client: SuiteClient;
    const serves = (...wanted: readonly ResourceVerb[]): boolean => wanted.every((verb) => verbs.includes(verb));
    const context: ResourceSuiteContext = {
      definition,
      options,
      serves,
      get client() {
        return client;
      },
      object(name, metadata = {}) {
        const valid = options.valid(name);
        return {
          apiVersion: group === "" ? version : `${group}/${version}`,
          kind,
          ...valid,
          metadata: { ...valid.metadata, ...metadata },
        };
      },
      test(name, needed, run) {
        const reason = skip[name];
        if (reason !== undefined) it.skip(`${name} (${reason})`, () => {});
        else if (serves(...needed)) it(name, run);
      },
    };
    beforeEach(async () => {
      surface = await open();
      client = createSuiteClient(surface.route, definition, namespace);
      await options.setup?.(client, surface);
    });
    afterEach(() => surface[Symbol.asyncDispose]());

    describeReads(context);
    describeWrites(context);
    describeOwnership(context);
  });
}

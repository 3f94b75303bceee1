// The port through which decisions know who belongs to a project, and its implementation over the watch cache.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/follow-view";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Owner } from "./caller.ts";
import { memberOf, readOwner, textOf } from "./read-spec.ts";

export type ProjectMember = {
  /** `User` or `Team`; a member of another kind is nobody. */
  readonly kind: string;
  readonly name: string;
  /** The ClusterRole that the member has in the project. */
  readonly clusterRole: string;
};

export type ProjectFact = { readonly owner: Owner; readonly members: readonly ProjectMember[] };

export type ProjectFacts = {
  /** Goes up when who belongs to any project changes. */
  readonly version: number;
  get(project: string): ProjectFact | undefined;
  /** What an object says of itself, which may be older or newer than what `get` knows. */
  of(object: CachedObject): ProjectFact;
  /** Every project, in no order. */
  entries(): Iterable<readonly [project: string, fact: ProjectFact]>;
};

/** The parts of a project's spec that open it: `owner {user, team}` and `members[] {kind, name, clusterRole}`. */
export function readProjectFact(project: KubeObject): ProjectFact {
  const members = memberOf(project["spec"], "members");
  return { owner: readOwner(project["spec"]), members: isJsonArray(members) ? members.map(readMember) : [] };
}

const readMember = (value: JsonValue): ProjectMember => ({
  kind: textOf(value, "kind"),
  name: textOf(value, "name"),
  clusterRole: textOf(value, "clusterRole"),
});

/** Reads the projects as they are now, and every change from then on, until disposed. The cache must be ready. */
export function createProjectFacts(projects: ViewPrefix, scheduler: Scheduler): ProjectFacts & Disposable {
  const facts = new Map<string, ProjectFact>();
  // The objects of the cache are the ones that lists and watches show, so each is parsed once.
  const byObject = new WeakMap<CachedObject, ProjectFact>();
  let version = 0;
  const put = (object: CachedObject): void => {
    const project = object.decode();
    const { name = "" } = project.metadata;
    const read = readProjectFact(project);
    const known = facts.get(name);
    const fact = known !== undefined && equalJson(known, read) ? known : read;
    byObject.set(object, fact);
    if (fact === known) return;
    facts.set(name, fact);
    version++;
  };
  const followed = followView(projects, scheduler, {
    replace(objects) {
      facts.clear();
      version++;
      for (const object of objects) put(object);
    },
    put,
    delete(object) {
      if (facts.delete(object.decode().metadata.name ?? "")) version++;
    },
  });
  return {
    get version() {
      return version;
    },
    get: (project) => facts.get(project),
    of: (object) => byObject.get(object) ?? readProjectFact(object.decode()),
    entries: () => facts.entries(),
    [Symbol.dispose]: () => followed[Symbol.dispose](),
  };
}

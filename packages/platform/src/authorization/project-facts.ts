// The port for members of projects, and its implementation over the watch cache.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { ChangeLog } from "@postern/apiserver/authorization/change-log";
import { type Rights, RightsSource } from "@postern/apiserver/authorization/rights";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/follow-view";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Owner } from "./caller.ts";

export type ProjectMember = {
  /** `User` or `Team`; other kinds are ignored. */
  readonly kind: string;
  readonly name: string;
  /** The ClusterRole that the member has in the project. */
  readonly clusterRole: string;
};

export type ProjectFact = { readonly owner: Owner; readonly members: readonly ProjectMember[] };

/** A project as it was and as it is, as far as it is known of both. */
export type ProjectChange = { readonly project: string; readonly facts: readonly ProjectFact[] };

/** The version goes up when who belongs to any project changes. */
export type ProjectFacts = Rights & {
  /** The changes that led beyond a version; undefined where they are not known any more. */
  changesSince(version: number): readonly ProjectChange[] | undefined;
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
  const rights = new RightsSource();
  const log = new ChangeLog<ProjectChange>();
  /** Without a change that says which project it concerns, every one. */
  const change = (made?: ProjectChange): void => {
    rights.changed((version) => {
      if (made === undefined) log.forget(version);
      else log.add(version, made);
    });
  };
  const put = (object: CachedObject): void => {
    const project = object.decode();
    const { name = "" } = project.metadata;
    const read = readProjectFact(project);
    const known = facts.get(name);
    const fact = known !== undefined && equalJson(known, read) ? known : read;
    byObject.set(object, fact);
    if (fact === known) return;
    facts.set(name, fact);
    change({ project: name, facts: known === undefined ? [fact] : [known, fact] });
  };
  const followed = followView(projects, scheduler, {
    replace(objects) {
      facts.clear();
      change();
      for (const object of objects) put(object);
    },
    put,
    delete(object) {
      const { name = "" } = object.decode().metadata;
      const known = facts.get(name);
      if (known === undefined) return;
      facts.delete(name);
      change({ project: name, facts: [known] });
    },
  });
  return Object.assign(rights, {
    changesSince: (since: number) => log.since(since),
    get: (project: string) => facts.get(project),
    of: (object: CachedObject) => byObject.get(object) ?? readProjectFact(object.decode()),
    entries: () => facts.entries(),
    [Symbol.dispose]: () => followed[Symbol.dispose](),
  });
}

// Reads members of stored specs that decisions depend on; what has another shape than it should counts as absent.

export const memberOf = (value: JsonValue | undefined, member: string): JsonValue | undefined =>
  isJsonObject(value) ? value[member] : undefined;

export function textOf(value: JsonValue | undefined, member: string): string {
  const text = memberOf(value, member);
  return typeof text === "string" ? text : "";
}

export function textsOf(value: JsonValue | undefined, member: string): readonly string[] {
  const list = memberOf(value, member);
  return isJsonArray(list) ? list.filter((item) => typeof item === "string") : [];
}

/** `owner {user, team}` of a spec; empty strings if there is no owner. */
export function readOwner(spec: JsonValue | undefined): Owner {
  const owner = memberOf(spec, "owner");
  return { user: textOf(owner, "user"), team: textOf(owner, "team") };
}

// Networks from which projects may be used: spec.allowedSourceRanges of a project, in memory.

import type { PlatformNames } from "@postern/api/platform-names";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray } from "@postern/apimachinery/json/json-value";
import type { AuthorizationDecision } from "@postern/apiserver/authorization/authorizer";
import { type PolicyVersion, PolicyVersionSource } from "@postern/apiserver/authorization/policy-version";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { isFromRanges, type SourceRanges } from "../access-keys/source-ranges.ts";
import { isServerItself } from "./key-standing.ts";
import { memberOf } from "./members/stored-members.ts";
import type { PlatformAuthorizer } from "./platform-decision.ts";
import { isClusterIdentity } from "./request/audience-of-request.ts";
import { managementRequest } from "./request/platform-request.ts";

/** The version goes up when the networks of any project change. */
export type ProjectSources = PolicyVersion & {
  /** Empty: from anywhere. */
  rangesOf(project: string): SourceRanges;
  /** Projects that may not be used from the address. */
  closedTo(address: string): ReadonlySet<string>;
};

const ANYWHERE: SourceRanges = [];
const NO_PROJECT: ReadonlySet<string> = new Set();

/** Follows the projects from their current state on, until disposed. The cache must be ready. */
export function createProjectSources(projects: ViewPrefix, scheduler: Scheduler): ProjectSources & Disposable {
  /** The ranges of the projects that have some. */
  const ranges = new Map<string, SourceRanges>();
  const changes = new PolicyVersionSource();
  const nameOf = ({ key }: CachedObject): string => key.slice(projects.prefix.length);
  const set = (project: string, now: SourceRanges): void => {
    if (equalJson([...now], [...(ranges.get(project) ?? ANYWHERE)])) return;
    if (now.length === 0) ranges.delete(project);
    else ranges.set(project, now);
    changes.changed();
  };
  const following = followView(projects, scheduler, {
    replace(objects) {
      const there = new Set(objects.map(nameOf));
      for (const project of [...ranges.keys()]) if (!there.has(project)) set(project, ANYWHERE);
      for (const object of objects) set(nameOf(object), rangesIn(object));
    },
    put: (object) => set(nameOf(object), rangesIn(object)),
    delete: (object) => set(nameOf(object), ANYWHERE),
  });
  return {
    get version() {
      return changes.version;
    },
    onChange: (listener) => changes.onChange(listener),
    rangesOf: (project) => ranges.get(project) ?? ANYWHERE,
    closedTo(address) {
      if (ranges.size === 0) return NO_PROJECT;
      return new Set([...ranges].flatMap(([project, own]) => (isFromRanges(own, address) ? [] : [project])));
    },
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}

function rangesIn(object: CachedObject): SourceRanges {
  const value = memberOf(object.decode()["spec"], "allowedSourceRanges");
  return isJsonArray(value) ? value.filter((range) => typeof range === "string") : ANYWHERE;
}

export type SourceCheckDeps = {
  readonly names: PlatformNames;
  readonly sources: ProjectSources;
  readonly authorizer: Pick<PlatformAuthorizer, "decide">;
};

type Caller = Pick<RequestContext, "user" | "credential">;

/** The decision about a request for the project, where it came from a network that the project does not allow. */
export const refusedSource = (project: string, address: string, names: PlatformNames): AuthorizationDecision => ({
  verdict: "deny",
  reason: `spec.allowedSourceRanges of project ${JSON.stringify(project)} does not include ${address}`,
  auditAnnotations: { [names.key("authorization-source")]: "SourceNotAllowed" },
});

/**
 * Whether the caller uses the project itself from anywhere: it may change the networks, or it is a cluster, which reads what it is. The clusters of the
 * project are another matter: their networks bind every caller.
 */
export function isFreeOfSources(project: string, { user, credential }: Caller, deps: SourceCheckDeps): boolean {
  if (isServerItself({ user, credential }) || isClusterIdentity(user.name, deps.names)) return true;
  const restrict = managementRequest({
    isResourceRequest: true,
    verb: "restrict",
    apiGroup: deps.names.managementGroup,
    resource: "projects",
    subresource: "",
    namespace: "",
    name: project,
    path: "",
  });
  return deps.authorizer.decide(restrict, { user, credential }).verdict === "allow";
}

/** The projects that do not exist for a caller at this address. */
export function projectsHiddenFrom(
  { request, ...caller }: Caller & Pick<RequestContext, "request">,
  deps: SourceCheckDeps,
): ReadonlySet<string> {
  const closed = deps.sources.closedTo(request.remoteAddress);
  if (closed.size === 0) return closed;
  return new Set([...closed].filter((project) => !isFreeOfSources(project, caller, deps)));
}

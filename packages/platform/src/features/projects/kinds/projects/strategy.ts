// The strategy of projects.

import { withFinalizer } from "@postern/api/finalizers";
import type { PlatformNames } from "@postern/api/platform-names";
import type { Project } from "@postern/api/project";
import { errorsOfQuotas } from "@postern/api/project-quotas";
import { warningsOfRecording } from "@postern/api/session-recording";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import { indexPath } from "@postern/apimachinery/validation/field-error";
import { nameIsDNSLabel } from "@postern/apimachinery/validation/object-name";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { callerAsOwner } from "../../../access-keys/caller-as-owner.ts";
import { validateSourceRanges } from "../../../access-keys/kinds/owned-access-keys/validation.ts";
import type { MembershipCheck } from "../../../authorization/members/membership-check.ts";
import { protectFinalizer } from "../../../authorization/protect-finalizer.ts";
import type { Directory } from "../../../directory/directory.ts";
import {
  type NameDeps,
  type NamedObject,
  namedCluster,
  namedClusterRole,
  namedOwner,
  namedTeam,
  namedUser,
  type UnknownNamesDeps,
  warningOfUnknownNames,
} from "../../../directory/unknown-names.ts";
import { mayRestrict, RESTRICT_VERB } from "../../project-limits.ts";

export type ProjectStrategyDeps = NameDeps &
  UnknownNamesDeps & {
    readonly names: PlatformNames;
    readonly directory: Directory;
    /** Refuses members and owners with more permissions than the writer of the project. */
    readonly checkMembership: MembershipCheck;
    /** Makes the namespace of a new project. Returns why the project cannot have it; undefined when it is there. */
    readonly createNamespace: (project: Project, signal: AbortSignal) => Promise<string | undefined>;
    /** Whether the server has a directory for recordings of sessions. */
    readonly hasRecordings: boolean;
  };

/** Fields that every writer of a project may change. All other fields of its spec limit the project, also those of later releases. */
const OPEN_FIELDS: readonly string[] = ["displayName", "description", "owner", "members", "access"];

/** Names of namespaces are DNS labels, and no longer than this. */
const MAX_NAMESPACE_LENGTH = 63;

export const projectStrategy = (deps: ProjectStrategyDeps): Strategy<Project> =>
  warningOfUnknownNames(strategyOf(deps), (project) => namedIn(project, deps), deps);

function* namedIn({ spec }: Project, deps: ProjectStrategyDeps): Generator<NamedObject> {
  yield* namedOwner(spec?.owner, deps);
  for (const [at, { kind, name = "", clusterRole = "" }] of (spec?.members ?? []).entries()) {
    const path = indexPath("spec.members", at);
    yield* (kind === "Team" ? namedTeam : namedUser)(`${path}.name`, name, deps);
    yield* namedClusterRole(`${path}.clusterRole`, clusterRole, deps);
  }
  for (const [at, { name = "" }] of (spec?.allowedClusters ?? []).entries()) {
    yield* namedCluster(`${indexPath("spec.allowedClusters", at)}.name`, name, deps);
  }
}

const strategyOf = (deps: ProjectStrategyDeps): Strategy<Project> => ({
  validateName: (name, isPrefix) => validateProjectName(name, isPrefix, deps.names),
  allowUnconditionalUpdate: true,
  async prepareForCreate(project, context) {
    await checkLimits(project, undefined, context, deps);
    const caller = callerAsOwner(context.user, deps);
    const owner = project.spec?.owner ?? caller;
    // The creator of a project becomes its owner; other members and owners are checked.
    await deps.checkMembership(equalJson(owner, caller) ? withoutOwner(project) : project, undefined, context);
    return withFinalizer(
      {
        ...project,
        spec: { ...project.spec, ...(owner === undefined ? {} : { owner }) },
        status: { phase: "Pending" },
      },
      projectFinalizer(deps.names),
    );
  },
  validate: (project) => [...errorsOfQuotas(project), ...validateSourceRanges(project.spec?.allowedSourceRanges ?? [])],
  validateUpdate: (project, old) => [
    ...errorsOfQuotas(project, old),
    ...validateSourceRanges(project.spec?.allowedSourceRanges ?? []),
  ],
  async prepareForUpdate(project, old, context) {
    if (context.info.subresource === "") await checkLimits(project, old, context, deps);
    await deps.checkMembership(project, old, context);
    return protectFinalizer(project, old, projectFinalizer(deps.names), context);
  },
  warningsOnCreate: ({ spec }) => warningsOfRecording(spec?.sessionRecording, undefined, deps.hasRecordings),
  warningsOnUpdate: ({ spec }, old) =>
    warningsOfRecording(spec?.sessionRecording, old.spec?.sessionRecording, deps.hasRecordings),
  // Before the response: the client may create objects in that namespace next. The controller creates it if this has failed.
  async afterCreate(project, { signal, warnings }) {
    const fault = await deps.createNamespace(project, signal);
    if (fault !== undefined) warnings.add(fault);
  },
});

/** Throws 403 for a changed limit of the project, unless the caller has the verb for it. */
async function checkLimits(
  project: Project,
  old: Project | undefined,
  context: RequestContext,
  deps: ProjectStrategyDeps,
): Promise<void> {
  const limitsOf = (from: Project | undefined): JsonObject =>
    Object.fromEntries(Object.entries(from?.spec ?? {}).filter(([field, value]) => !isOpen(field, value)));
  const [limits, before] = [limitsOf(project), limitsOf(old)];
  const changed = [...new Set([...Object.keys(limits), ...Object.keys(before)])].find(
    (field) => !equalJson(limits[field], before[field]),
  );
  if (changed === undefined) return;
  const { name = "" } = project.metadata;
  const resource = { group: deps.names.managementGroup, resource: "projects" };
  if (await mayRestrict(name, context, deps)) return;
  throw forbiddenRequestError(
    resource,
    name,
    `spec.${changed} limits the project: changing it requires the verb ${RESTRICT_VERB} on projects`,
  );
}

/** Nothing in a list or an object says as little as its absence. */
const isOpen = (field: string, value: JsonValue | undefined): boolean =>
  OPEN_FIELDS.includes(field) ||
  value === undefined ||
  (typeof value === "object" && value !== null && Object.keys(value).length === 0);

function withoutOwner(project: Project): Project {
  const { owner: _, ...spec } = project.spec ?? {};
  return { ...project, spec };
}

/** Held until the namespace of the project is gone. */
export const projectFinalizer = ({ key }: Pick<PlatformNames, "key">): string => key("project");

function validateProjectName(name: string, isPrefix: boolean, names: PlatformNames): readonly string[] {
  const faults = nameIsDNSLabel(name, isPrefix);
  if (faults.length > 0) return faults;
  const room = MAX_NAMESPACE_LENGTH - names.projectNamespacePrefix.length;
  return name.length > room ? [`must be no more than ${room} characters, for the name of the project's namespace`] : [];
}

// The draft of an access request, and what policies offer for it.

import type { AccessPolicy, AccessPolicyTarget } from "@postern/api/access-policy";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { withoutEmpty } from "../../api/spec-changes.ts";

export type AskDraft = {
  readonly name: string;
  /** `<kind>/<project or empty>/<name>`: see `policyId`. */
  readonly policy: string;
  readonly project: string;
  readonly virtualCluster: string;
  readonly cluster: string;
  readonly role: string;
  /** In seconds. */
  readonly duration: string;
  readonly reason: string;
  readonly emergency: boolean;
};

export type Offer = {
  readonly id: string;
  readonly policy: AccessPolicy;
  /** The project of the policy; "" for a policy of the whole platform. */
  readonly project: string;
};

export const policyId = (project: string, name: string): string =>
  `${project === "" ? "ClusterAccessPolicy" : "AccessPolicy"}/${project}/${name}`;

/** Policies by which the user might ask: those for the user, a team, or an expression, which the server knows the result of. */
export function offersFor(
  policies: readonly Offer[],
  { user, teams }: { readonly user: string; readonly teams: readonly string[] },
): readonly Offer[] {
  return policies.filter(({ policy: { spec } }) => {
    const { users = [], teams: asking = [], expression = "" } = spec.requesters;
    if (spec.disabled === true) return false;
    return users.includes(user) || asking.some((team) => teams.includes(team)) || expression !== "";
  });
}

export type Place = { readonly project: string; readonly virtualCluster: string; readonly cluster: string };

const placeOf = (project = "", virtualCluster = "", cluster = ""): Place => ({ project, virtualCluster, cluster });
export const placeId = ({ project, virtualCluster, cluster }: Place): string =>
  cluster === "" ? [project, virtualCluster].filter((part) => part !== "").join("/") : `:${cluster}`;

/** The places of a policy that have names: `seen` are the projects and virtual clusters that the user sees. */
export function placesOf(
  { policy, project: own }: Offer,
  seen: {
    readonly projects: readonly string[];
    readonly clusters: readonly { readonly project: string; readonly name: string; readonly labels: Labels }[];
  },
): readonly Place[] {
  const found = new Map<string, Place>();
  for (const target of policy.spec.targets)
    for (const place of placesOfTarget(target, own, seen)) found.set(placeId(place), place);
  return [...found.values()];
}

type Labels = { readonly [name: string]: string };
type Seen = Parameters<typeof placesOf>[1];

function placesOfTarget(target: AccessPolicyTarget, own: string, { projects, clusters }: Seen): readonly Place[] {
  const named = target.projects ?? (own === "" ? [] : [own]);
  const wanted = named.includes("*") ? projects : named;
  const isWanted = new Set(wanted);
  const labels = Object.entries(target.selector?.matchLabels ?? {});
  switch (target.kind) {
    case "Cluster":
      return (target.names ?? []).map((name) => placeOf("", "", name));
    case "Project":
      return wanted.map((project) => placeOf(project));
    case "VirtualCluster":
      return target.names === undefined || target.names.length === 0
        ? clusters
            .filter(
              (each) => isWanted.has(each.project) && labels.every(([name, value]) => each.labels[name] === value),
            )
            .map(({ project, name }) => placeOf(project, name))
        : wanted.flatMap((project) => (target.names ?? []).map((name) => placeOf(project, name)));
  }
}

/** The first of `offers` with a place. `placesOf` of all of them has offers times places. */
export function offerAt(offers: readonly Offer[], place: Place, seen: Seen): Offer | undefined {
  const isSeenProject = seen.projects.includes(place.project);
  const cluster = seen.clusters.find(({ project, name }) => project === place.project && name === place.virtualCluster);
  const narrowed: Seen = {
    projects: isSeenProject ? [place.project] : [],
    clusters: cluster === undefined ? [] : [cluster],
  };
  return offers.find((offer) => placesOf(offer, narrowed).some((each) => placeId(each) === placeId(place)));
}

/** The roles that may be asked for at a place; none for a connected cluster. */
export function rolesAt({ policy, project: own }: Offer, place: Place): readonly string[] {
  const kind = place.cluster !== "" ? "Cluster" : place.virtualCluster === "" ? "Project" : "VirtualCluster";
  const roles = policy.spec.targets
    .filter((target) => {
      const projects = target.projects ?? (own === "" ? [] : [own]);
      const isThere = kind === "Cluster" || projects.includes("*") || projects.includes(place.project);
      const isNamed = kind !== "VirtualCluster" || !target.names?.length || target.names.includes(place.virtualCluster);
      return target.kind === kind && isThere && isNamed;
    })
    .flatMap((target) => target.roles ?? []);
  return [...new Set(roles)];
}

const DURATIONS = [900, 1_800, 3_600, 14_400, 28_800, 86_400, 604_800] as const;

/** The durations up to the longest that the policy allows, and that one. */
export const durationsUpTo = (longest: number): readonly number[] => [
  ...DURATIONS.filter((seconds) => seconds < longest),
  longest,
];

export function specOfAsk(draft: AskDraft): JsonObject {
  const [kind = "", , name = ""] = draft.policy.split("/");
  const { project, virtualCluster, cluster, role, reason, emergency } = draft;
  return {
    policy: { ...(kind === "AccessPolicy" ? { kind } : {}), name },
    target: withoutEmpty({ project, virtualCluster, cluster }),
    ...withoutEmpty({ role, reason, emergency }),
    ...(draft.duration === "" ? {} : { durationSeconds: Number(draft.duration) }),
  };
}

// Names a policy in a refusal, if the caller may ask for what it lacks. A refusal is remembered with it, so that repeated ones cost nothing.

import type { PlatformNames } from "@postern/api/platform-names";
import type { AccessOffers } from "../authorization/platform-decision.ts";
import type { PlatformRequest } from "../authorization/request/platform-request.ts";
import type { Directory } from "../directory/directory.ts";
import { MAX_OFFER_EXPRESSIONS } from "./access-limits.ts";
import type { AccessPolicies } from "./access-policies.ts";
import { type AccessPolicyState, isListedRequester, type Labels, mayAsk, reachesPlace } from "./access-policy-state.ts";
import { type Person, personOfUser } from "./person.ts";
import type { AccessPlace } from "./request-record.ts";

export function createAccessOffers(deps: {
  readonly names: PlatformNames;
  readonly policies: AccessPolicies;
  readonly directory: Directory;
  readonly labelsOf: (place: AccessPlace) => Labels;
}): AccessOffers {
  const { names, policies, directory, labelsOf } = deps;
  let directoryVersion = directory.version;
  let offset = 0;

  const rolesAt = (
    policy: AccessPolicyState,
    place: AccessPlace,
    isEnough: (role: string) => boolean,
  ): string | undefined => {
    for (const target of policy.targets) {
      if (!reachesPlace(target, place, labelsOf)) continue;
      if (target.kind === "Cluster") return "";
      const role = [...target.roles].find((name) => target.kind === "VirtualCluster" || isEnough(name));
      if (role !== undefined) return role;
    }
    return undefined;
  };

  return {
    get version() {
      // The users that may ask follow from the directory.
      if (directory.version !== directoryVersion) {
        offset++;
        directoryVersion = directory.version;
      }
      return policies.version + offset;
    },
    onChange: (listener) => policies.onChange(listener),
    offerFor(user, request, allows) {
      const places = placesOf(request, names);
      const [first] = places;
      if (first === undefined) return undefined;
      const person = personOfUser(user, names, directory);
      if (person === undefined) return undefined;
      let expressions = 0;
      const mayAskCheaply = (policy: AccessPolicyState, asking: Person): boolean => {
        if (isListedRequester(policy, asking)) return true;
        if (policy.requesters.expression === undefined || ++expressions > MAX_OFFER_EXPRESSIONS) return false;
        return mayAsk(policy, asking);
      };
      for (const policy of policies.reaching("project" in first ? first.project : undefined)) {
        if (policy.isOff) continue;
        for (const place of places) {
          const role = rolesAt(policy, place, allows);
          if (role !== undefined && mayAskCheaply(policy, person)) return offerText(policy, place, role, names);
        }
      }
      return undefined;
    },
  };
}

/** Where access would allow the request: the smaller place first. */
function placesOf(request: PlatformRequest, names: PlatformNames): readonly AccessPlace[] {
  switch (request.target) {
    case "Cluster":
      return [{ cluster: request.cluster }];
    case "ProjectVirtualCluster":
      return [{ project: request.project, virtualCluster: request.virtualCluster }, { project: request.project }];
    case "ProjectSpace":
      return [{ project: request.project }];
    case "Management": {
      const { isResourceRequest, apiGroup, resource, subresource, namespace, name, verb } = request.inner;
      if (!isResourceRequest) return [];
      const isOwn = apiGroup === names.managementGroup;
      if (namespace === "") {
        if (!isOwn || name === "") return [];
        if (resource === "clusters" && subresource === "" && (verb === "get" || verb === "use"))
          return [{ cluster: name }];
        return resource === "projects" ? [{ project: name }] : [];
      }
      const project = names.projectOf(namespace);
      if (project === undefined) return [];
      const opensInstance =
        isOwn &&
        resource === "virtualclusterinstances" &&
        name !== "" &&
        ((subresource === "" && ["get", "use"].includes(verb)) || subresource === "kubeconfig");
      return opensInstance ? [{ project, virtualCluster: name }, { project }] : [{ project }];
    }
  }
}

function offerText(
  { name, kind }: AccessPolicyState,
  place: AccessPlace,
  role: string,
  { name: platform }: PlatformNames,
): string {
  const where =
    "cluster" in place
      ? `--cluster ${place.cluster}`
      : place.virtualCluster === undefined
        ? `--project ${place.project}`
        : `--virtual-cluster ${place.project}/${place.virtualCluster}`;
  const policy = kind === "AccessPolicy" ? `--project-policy ${name}` : `--policy ${name}`;
  return `you may ask for access: ${platform} access request ${policy} ${where}${role === "" ? "" : ` --role ${role}`}`;
}

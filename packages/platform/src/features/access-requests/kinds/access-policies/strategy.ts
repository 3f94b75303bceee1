// Strategy of access policies: you cannot offer access that you could not grant yourself.

import type { AccessPolicy } from "@postern/api/access-policy";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import { ApiError, forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { Foundation } from "../../../../foundation/foundation.ts";
import { getRequest, managementRequest } from "../../../authorization/request/platform-request.ts";
import { projectRoleOf } from "../../../authorization/role-aliases.ts";
import { asStanding } from "../../../authorization/standing-user.ts";
import { MAX_CLUSTER_POLICIES, MAX_PROJECT_POLICIES } from "../../access-limits.ts";
import type { ACCESS_POLICIES, CLUSTER_ACCESS_POLICIES } from "../../access-policies.ts";
import type { AccessRequestNeeds } from "../needs.ts";
import { validateAccessPolicy } from "./validation.ts";

export function accessPolicyStrategy(
  { names }: Foundation,
  { access: { policies }, authorization: { authorizer, escalation } }: AccessRequestNeeds,
  plural: typeof ACCESS_POLICIES | typeof CLUSTER_ACCESS_POLICIES,
): Strategy<AccessPolicy> {
  /** Throws 403 for a policy that offers more than its writer could grant: by a membership, by a rule of the virtual cluster, by a binding for the cluster. */
  const checkWriter = async (policy: AccessPolicy, context: RequestContext): Promise<void> => {
    const { namespace = "", name = "" } = policy.metadata;
    const { user, credential } = asStanding(context, names);
    const may = (verb: string, resource: string): boolean => {
      const asked = { ...getRequest(names.managementGroup, resource, namespace, ""), verb };
      return authorizer.decide(managementRequest(asked), { user, credential }).verdict === "allow";
    };
    const refuse = (why: string) =>
      forbiddenRequestError({ group: names.managementGroup, resource: plural }, name, why);
    const checked = new Set<string>();
    for (const [at, { kind, roles = [] }] of policy.spec.targets.entries()) {
      if (kind === "VirtualCluster" && !may("update", "virtualclusterinstances"))
        throw refuse("roles inside virtual clusters are offered by users who may update virtualclusterinstances");
      if (kind === "Cluster" && !(may("update", "clusters") && may("use", "clusters")))
        throw refuse("clusters are offered by users who may update and use clusters");
      if (kind !== "Project") continue;
      for (const [index, given] of roles.entries()) {
        const role = projectRoleOf(given, names);
        if (checked.has(role)) continue;
        checked.add(role);
        const why = await escalation.whyNotBind(role, namespace, context);
        if (why !== undefined) throw refuse(`spec.targets[${at}].roles[${index}]: ${why}`);
      }
    }
  };

  return {
    allowUnconditionalUpdate: true,
    async prepareForCreate(policy, context) {
      await checkWriter(policy, context);
      return policy;
    },
    async prepareForUpdate(policy, old, context) {
      if (!equalJson(policy.spec, old.spec)) await checkWriter(policy, context);
      return policy;
    },
    validate: (policy) => validateAccessPolicy(policy, names),
    validateUpdate: (policy) => validateAccessPolicy(policy, names),
    limits({ metadata: { namespace = "" } }, old) {
      if (old !== undefined) return [];
      const most = namespace === "" ? MAX_CLUSTER_POLICIES : MAX_PROJECT_POLICIES;
      return [
        {
          name: `access policies in ${namespace}`,
          check() {
            if (policies.countIn(namespace) < most) return;
            const message = `there are ${most} access policies ${namespace === "" ? "of the platform" : `in ${namespace}`}, which is the limit`;
            throw new ApiError({ code: 403, reason: "Forbidden", message });
          },
        },
      ];
    },
  };
}

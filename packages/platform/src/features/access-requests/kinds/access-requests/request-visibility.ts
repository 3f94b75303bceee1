// Limits a caller to its own access requests, those that it may approve, and with the right to update them all of them.

import type { AccessRequest } from "@postern/api/access-request";
import { expiredError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import type { Foundation } from "../../../../foundation/foundation.ts";
import { getRequest, managementRequest } from "../../../authorization/request/platform-request.ts";
import { type AccessPolicyState, isListedApprover } from "../../access-policy-state.ts";
import { personOfUser } from "../../person.ts";
import { ACCESS_REQUESTS } from "../../request-record.ts";
import type { AccessRequestNeeds, AccessRequestParts } from "../needs.ts";

export function ownAndApprovable(
  { names }: Foundation,
  { access: { policies }, directory, authorization: { authorizer } }: AccessRequestNeeds,
  { check }: AccessRequestParts,
): ObjectVisibility {
  const seesAll = ({ user, credential }: RequestContext): boolean => {
    const asked = { ...getRequest(names.managementGroup, ACCESS_REQUESTS, "", ""), verb: "update" };
    return authorizer.decide(managementRequest(asked), { user, credential }).verdict === "allow";
  };
  const visibleTo = (context: RequestContext): "all" | ((object: CachedObject) => boolean) => {
    if (seesAll(context)) return "all";
    const person = personOfUser(context.user, names, directory);
    if (person === undefined) return () => false;
    // Policies change seldom, and are far fewer than requests.
    const known = new Map<AccessPolicyState, boolean>();
    const mayApprove = (policy: AccessPolicyState): boolean => {
      const before = known.get(policy);
      if (before !== undefined) return before;
      const may = isListedApprover(policy, person) || check.mayApproveByRole(policy, person);
      known.set(policy, may);
      return may;
    };
    return (object) => {
      // The store holds no other kind under this resource.
      const { spec, status } = object.decode() as AccessRequest;
      if (status?.requester?.userUID === person.user.uid) return true;
      const policy = check.policyOf(spec);
      return policy !== undefined && mayApprove(policy);
    };
  };
  /** Differs when other requests are visible. */
  const approvable = (context: RequestContext): string => {
    const person = personOfUser(context.user, names, directory);
    return person === undefined ? "" : person.teams.join("\n");
  };

  return {
    visibleTo,
    follow(context, end) {
      const before = approvable(context);
      const stop = () => end(expiredError("the requests that the user may see have changed, list again"));
      const following = [
        directory.onChange(() => {
          if (approvable(context) !== before) stop();
        }),
        policies.onChange(stop),
      ];
      return {
        visible: visibleTo(context),
        holds: () => true,
        [Symbol.dispose]() {
          for (const handle of following) handle[Symbol.dispose]();
        },
      };
    },
    mayGet(context, object) {
      const visible = visibleTo(context);
      return visible === "all" || visible(object);
    },
    mayChange: (context) => seesAll(context),
  };
}

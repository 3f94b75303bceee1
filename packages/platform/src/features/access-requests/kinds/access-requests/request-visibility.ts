// Limits a caller to its own access requests, those that it may approve, and with the right to update them all of them.

import type { AccessRequest } from "@postern/api/access-request";
import type { PlatformNames } from "@postern/api/platform-names";
import { expiredError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import type { PlatformAuthorizer } from "../../../authorization/platform-decision.ts";
import { getRequest, managementRequest } from "../../../authorization/platform-request.ts";
import type { Directory } from "../../../directory/directory.ts";
import type { AccessPolicies } from "../../access-policies.ts";
import { type AccessPolicyState, isListedApprover } from "../../access-policy-state.ts";
import { type Person, personOf } from "../../person.ts";
import { ACCESS_REQUESTS } from "../../request-record.ts";
import type { AccessCheck } from "../access-check.ts";

export type RequestVisibilityDeps = {
  readonly names: PlatformNames;
  readonly directory: Directory;
  readonly policies: AccessPolicies;
  readonly authorizer: Pick<PlatformAuthorizer, "decide">;
  readonly check: Pick<AccessCheck, "policyOf" | "mayApproveByRole">;
};

export function ownAndApprovable(deps: RequestVisibilityDeps): ObjectVisibility {
  const { names, directory, policies, authorizer, check } = deps;

  const personOfCaller = ({ user }: RequestContext): Person | undefined => {
    const found = directory.userBySubject(user.name);
    return found === undefined || !user.groups.includes(names.userGroup(found.name))
      ? undefined
      : personOf(found.name, directory);
  };
  const seesAll = ({ user, credential }: RequestContext): boolean => {
    const asked = { ...getRequest(names.managementGroup, ACCESS_REQUESTS, "", ""), verb: "update" };
    return authorizer.decide(managementRequest(asked), { user, credential }).verdict === "allow";
  };
  const visibleTo = (context: RequestContext): "all" | ((object: CachedObject) => boolean) => {
    if (seesAll(context)) return "all";
    const person = personOfCaller(context);
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
    const person = personOfCaller(context);
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

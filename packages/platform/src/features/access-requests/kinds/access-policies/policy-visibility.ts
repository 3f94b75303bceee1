// Limits a caller to the policies that it may ask by or approve, and with the right to update policies to all of them.

import { expiredError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ObjectVisibility, VisibleObjects } from "@postern/apiserver/registry/visibility";
import type { Foundation } from "../../../../foundation/foundation.ts";
import { getRequest, managementRequest } from "../../../authorization/request/platform-request.ts";
import { MAX_OFFER_EXPRESSIONS } from "../../access-limits.ts";
import { ACCESS_POLICIES, type CLUSTER_ACCESS_POLICIES } from "../../access-policies.ts";
import { isListedApprover, isListedRequester, mayAsk } from "../../access-policy-state.ts";
import { personOfUser } from "../../person.ts";
import type { AccessRequestNeeds } from "../needs.ts";

export function askablePolicies(
  { names }: Foundation,
  { access: { policies }, directory, authorization: { authorizer } }: AccessRequestNeeds,
  plural: typeof ACCESS_POLICIES | typeof CLUSTER_ACCESS_POLICIES,
): ObjectVisibility {
  const kind = plural === ACCESS_POLICIES ? "AccessPolicy" : "ClusterAccessPolicy";

  const seesAllIn = ({ user, credential }: RequestContext, namespace: string): boolean => {
    const asked = { ...getRequest(names.managementGroup, plural, namespace, ""), verb: "update" };
    return authorizer.decide(managementRequest(asked), { user, credential }).verdict === "allow";
  };
  const visibleTo = (context: RequestContext): VisibleObjects => {
    if (seesAllIn(context, kind === "AccessPolicy" ? context.info.namespace : "")) return "all";
    const person = personOfUser(context.user, names, directory);
    const inNamespace = new Map<string, boolean>();
    // The cost of a list is bounded: policies that only an expression opens are found by their name.
    let expressions = 0;
    return ({ key }) => {
      const [name = "", before = ""] = key.split("/").reverse();
      const namespace = kind === "AccessPolicy" ? before : "";
      const seesAll = inNamespace.get(namespace) ?? seesAllIn(context, namespace);
      inNamespace.set(namespace, seesAll);
      if (seesAll) return true;
      const policy = policies.get({ kind, namespace, name });
      if (person === undefined || policy === undefined) return false;
      if (isListedRequester(policy, person) || isListedApprover(policy, person)) return true;
      if (policy.requesters.expression === undefined || ++expressions > MAX_OFFER_EXPRESSIONS) return false;
      return mayAsk(policy, person);
    };
  };
  const isVisible = (context: RequestContext, object: CachedObject): boolean => {
    const visible = visibleTo(context);
    return visible === "all" || visible(object);
  };
  const teamsOf = (context: RequestContext): string =>
    personOfUser(context.user, names, directory)?.teams.join("\n") ?? "";

  return {
    visibleTo,
    follow(context, end) {
      const before = teamsOf(context);
      const change = directory.onChange(() => {
        if (teamsOf(context) !== before) end(expiredError("the teams of the user have changed, list again"));
      });
      const visible = (object: CachedObject) => isVisible(context, object);
      return { visible, holds: () => true, [Symbol.dispose]: () => change[Symbol.dispose]() };
    },
    mayGet: isVisible,
  };
}

// Impersonates a user, if the caller is allowed to.
// Source: k8s.io/apiserver/pkg/endpoints/filters/impersonation/constrained_impersonation.go

import type { ApiError } from "@postern/apimachinery/meta/api-error";
import type { UserInfo } from "../authentication/user-info.ts";
import type { AuthorizationAttributes, Authorizer } from "../authorization/authorizer.ts";
import { authorizeWhileOpen } from "../authorization/long-running-requests.ts";
import { authorizationAttributesOf, forbiddenErrorFor } from "../context/authorization-attributes.ts";
import type { RequestContext } from "../context/request-context.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import { IMPERSONATION_MODES, type ImpersonationPlan } from "./impersonation-modes.ts";
import {
  hasImpersonationHeader,
  impersonationRequestOf,
  withoutImpersonationHeaders,
} from "./impersonation-request.ts";
import type { RequestState } from "./request-state.ts";
import type { Filter } from "./run-filters.ts";
import type { QuestionOf } from "./with-authorization.ts";

export type ImpersonationOptions = {
  readonly authorizer: Authorizer;
  /** The request that a caller must be allowed as the other user. Default: that of the path. */
  readonly questionOf?: QuestionOf | undefined;
  /** Requests whose impersonation a later handler decides; they are passed on unchanged. Absent: none. */
  readonly skipImpersonation?: ((call: RequestState) => boolean) | undefined;
};

export function withImpersonation({
  authorizer,
  questionOf,
  skipImpersonation = () => false,
}: ImpersonationOptions): Filter {
  const impersonate = createImpersonation(authorizer);
  return {
    enter(call) {
      if (!hasImpersonationHeader(call.request.headers) || skipImpersonation(call)) return undefined;
      return impersonate(call, questionOf && (() => questionOf(call).attributes))?.then((acting) => {
        Object.assign(call, acting);
        return undefined;
      });
    },
  };
}

/** The request without impersonation headers, and the impersonated user. */
export type Impersonation = { readonly request: ApiRequest; readonly user: UserInfo };

/**
 * Undefined without impersonation. Rejects with ApiError 403 and 400. `attributesOf` gives what the caller must be allowed to do as the other user.
 * Default: the request of the path.
 */
export type Impersonate = (
  context: RequestContext,
  attributesOf?: () => AuthorizationAttributes,
) => Promise<Impersonation> | undefined;

/** Callers whose last mode is remembered; they begin with another one after that, which changes texts of refusals only. */
const MAX_REMEMBERED = 1_000;
const MAX_NAME = 256;

export function createImpersonation(authorizer: Authorizer): Impersonate {
  /** A caller nearly always has one mode: the cost of the others is saved, and refusals speak of it. */
  const lastModes = new Map<string, number>();
  const remember = (name: string, mode: number): void => {
    if (name.length > MAX_NAME || lastModes.get(name) === mode) return;
    if (lastModes.size >= MAX_REMEMBERED) lastModes.clear();
    lastModes.set(name, mode);
  };

  const impersonate = async (
    context: RequestContext,
    attributesOf: () => AuthorizationAttributes,
  ): Promise<Impersonation> => {
    const asked = impersonationRequestOf(context.request.headers);
    const request = withoutImpersonationHeaders(context.request);
    const { name } = context.user;
    if (asked === undefined) return { request, user: context.user };
    const attributes = attributesOf();
    const last = lastModes.get(name);
    const modes = [...IMPERSONATION_MODES.keys()];
    const order = last === undefined ? modes : [last, ...modes.filter((mode) => mode !== last)];
    let refusal: ApiError | undefined;
    for (const mode of order) {
      const plan = IMPERSONATION_MODES[mode]?.(asked, attributes);
      if (plan === undefined) continue;
      const found = await decide(plan, authorizer);
      if (!("questions" in found)) {
        refusal ??= found;
        continue;
      }
      await keepAllowed(found.questions, authorizer, context);
      remember(name, mode);
      context.audit.setImpersonatedUser(plan.user, plan.constraint);
      return { request, user: plan.user };
    }
    // The mode without constraints is for every user.
    throw refusal;
  };
  return (context, attributesOf = () => authorizationAttributesOf(context)) =>
    hasImpersonationHeader(context.request.headers) ? impersonate(context, attributesOf) : undefined;
}

/** The questions that were answered with yes, or the refusal of the first that was not. */
async function decide(
  { steps }: ImpersonationPlan,
  authorizer: Authorizer,
): Promise<{ readonly questions: readonly AuthorizationAttributes[] } | ApiError> {
  const questions: AuthorizationAttributes[] = [];
  for (const { each, all, refusal } of steps) {
    if (all !== undefined && (await authorizer.authorize(all)).verdict === "allow") {
      questions.push(all);
      continue;
    }
    for (const question of each) {
      if (refusal !== undefined) return forbiddenErrorFor(question, refusal);
      const { verdict, reason } = await authorizer.authorize(question);
      if (verdict !== "allow") return forbiddenErrorFor(question, reason);
      questions.push(question);
    }
  }
  return { questions };
}

/** A request that lasts ends with the permissions of the mode that let it in, and not with those of others that were tried. */
async function keepAllowed(
  questions: readonly AuthorizationAttributes[],
  authorizer: Authorizer,
  { open }: RequestContext,
): Promise<void> {
  if (open === undefined) return;
  for (const question of questions) {
    const { verdict, reason } = await authorizeWhileOpen(authorizer, question, open);
    if (verdict !== "allow") throw forbiddenErrorFor(question, reason);
  }
}

// TokenReviews: whose token is this? Any kube-apiserver can use them as its webhook authenticator.
// Source: k8s.io/kubernetes/pkg/registry/authentication/tokenreview/storage.go

import { badRequestError, isApiError } from "@postern/apimachinery/meta/api-error";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import type { TokenAuthenticator } from "@postern/apiserver/authentication/token-authenticator";
import { GROUP_AUTHENTICATED, type UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { defineBuiltin } from "../builtin-resource.ts";
import { reviewResponse } from "../review-response.ts";
import { AUTHENTICATION_GROUP, userInfoFields, userInfoOf } from "./user-info-fields.ts";

const fields = s.object({
  spec: s.object({
    token: s.string(),
    audiences: s.list(s.string()),
  }),
  status: s.object({
    authenticated: s.boolean(),
    user: userInfoFields,
    audiences: s.list(s.string()),
    error: s.string(),
  }),
});
type TokenReview = KindOf<typeof fields>;

export type TokenReviewDeps = {
  readonly tokens: TokenAuthenticator;
  /** The audiences of this server, which a token must have where the review names none. */
  readonly audiences: readonly string[];
  /** Whether the caller may learn about the token; otherwise it is answered like an invalid one. Default: always. */
  readonly accepts?: (authentication: Authentication, asker: RequestContext, asked: readonly string[]) => boolean;
  /** The user as the asker is shown it. Default: as it is here. */
  readonly shown?: (user: UserInfo, asker: RequestContext) => UserInfo;
  /** Asks about a token, or throws ApiError 429 where the asker has asked about too many that were not good. Default: asks. */
  readonly limited?: LimitedQuestion;
};

/** Answers undefined for a token that is not good. */
type LimitedQuestion = <T>(
  asker: RequestContext,
  token: string,
  question: () => Promise<T | undefined>,
) => Promise<T | undefined>;

const unlimited: LimitedQuestion = (_asker, _token, question) => question();

/** The same message for all invalid tokens, so that it reveals nothing about the reason. */
const REFUSED = { user: {}, error: "invalid bearer token" };

export const tokenReviews = ({
  tokens,
  audiences,
  accepts = () => true,
  shown = (user) => user,
  limited = unlimited,
}: TokenReviewDeps): ResourceDefinition =>
  defineBuiltin({
    group: AUTHENTICATION_GROUP,
    version: "v1",
    kind: "TokenReview",
    plural: "tokenreviews",
    namespaced: false,
    schema: kindSchema(fields.schema),
    async submit(context, body) {
      // The schema has checked the shape.
      const { token = "", audiences: asked = [] } = (body as TokenReview).spec ?? {};
      if (token === "") throw badRequestError("token is required for TokenReview in authentication");
      const wanted = asked.length === 0 ? audiences : asked;
      const authentication = await limited(context, token, async () => {
        const known = await authenticateToken(tokens, token, wanted);
        return known !== undefined && accepts(known, context, asked) ? known : undefined;
      });
      if (authentication === undefined) return reviewResponse(body, REFUSED);
      const { audiences: named } = authentication;
      if (named?.length === 0 && asked.length > 0) return reviewResponse(body, REFUSED);
      // A token that names no audience is good for any, and the answer has only those that are this server's own. kube-apiserver as a client
      // always asks for its own, and takes an answer without audiences.
      const common = named ?? audiences.filter((audience) => wanted.includes(audience));
      return reviewResponse(body, {
        authenticated: true,
        user: userInfoOf(withAuthenticatedGroup(shown(authentication.user, context))),
        ...(common.length === 0 ? {} : { audiences: common }),
      });
    },
  });

async function authenticateToken(
  tokens: TokenAuthenticator,
  token: string,
  wanted: readonly string[],
): Promise<Authentication | undefined> {
  try {
    return await tokens.authenticateToken(token, wanted);
  } catch (error) {
    if (isApiError(error, "Unauthorized")) return undefined;
    throw error;
  }
}

const withAuthenticatedGroup = (user: UserInfo): UserInfo =>
  user.groups.includes(GROUP_AUTHENTICATED) ? user : { ...user, groups: [...user.groups, GROUP_AUTHENTICATED] };

// The fields of identity providers: where users sign in, and how claims map to users and groups.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "./conditions.ts";
import { description, displayName } from "./display-fields.ts";

export const DEFAULT_SESSION_SECONDS = 12 * 60 * 60;
const MAX_SESSION_SECONDS = 90 * 24 * 60 * 60;
export const DEFAULT_REFRESH_SECONDS = 300;
export const DEFAULT_STALE_SECONDS = 4 * 60 * 60;
export const DEFAULT_SCOPES = ["openid", "profile", "email", "offline_access"] as const;

const expression = s.string({ maxLength: 4096 });

const mapping = (what: string) =>
  s
    .object({
      claim: s
        .string({ maxLength: 256 })
        .describe("Name of the claim. One that begins with a slash is a JSON pointer."),
      expression: expression.describe("CEL expression over the variable claims, instead of claim."),
      prefix: s.string({ maxLength: 64 }).describe("Prefix for each value."),
    })
    .describe(what);

const spec = s.object({
  displayName,
  description,
  disabled: s
    .boolean()
    .describe("Whether the provider is disabled. Nobody can sign in with it, and its sessions are refused."),
  issuer: s
    .object({
      url: s
        .string({ minLength: 1, maxLength: 2048 })
        .required()
        .describe(
          "Issuer (iss) of the tokens, compared exactly. The provider's metadata is read from below this URL, over HTTPS.",
        ),
      discoveryURL: s
        .string({ maxLength: 2048 })
        .describe("Full URL of the discovery document, if it is not below url. Its issuer must be url."),
      certificateAuthority: s
        .string()
        .describe("CA certificates in PEM to verify the provider with. Defaults to the public CAs."),
    })
    .required()
    .describe("Issuer of the tokens."),
  clientId: s
    .string({ minLength: 1, maxLength: 512 })
    .required()
    .describe("Client ID of this platform at the provider. It must be an audience of the tokens."),
  clientSecretRef: s
    .object({
      secretNamespace: s.string({ minLength: 1 }).required().describe("Namespace of the Secret."),
      secretName: s.string({ minLength: 1 }).required().describe("Name of the Secret."),
      key: s.string({ minLength: 1 }).describe("The key in the Secret's data. Defaults to clientSecret."),
    })
    .describe("Reference to the Secret with the client secret. If unset, the client is public and PKCE protects it."),
  clientAuthentication: s
    .string({ enum: ["Basic", "Post", "PrivateKeyJWT", "FederatedToken"] })
    .describe(
      "How the client authenticates: with the secret in the header (Basic, the default) or in the body (Post); without a secret, by an assertion that the server signs with its own key (PrivateKeyJWT), or by a token that the server reads from a file (FederatedToken, option --federated-token-file).",
    ),
  clientAssertion: s
    .object({
      algorithm: s.string({ enum: ["ES256", "RS256"] }).describe("Algorithm of the key. Defaults to ES256."),
      audience: s
        .string({ enum: ["Issuer", "TokenEndpoint"] })
        .describe(
          "Audience (aud) of the assertion: issuer.url (Issuer, the default), or the URL of the token endpoint, which some providers require.",
        ),
    })
    .describe("The assertion, if clientAuthentication is PrivateKeyJWT."),
  scopes: s
    .list(s.string({ minLength: 1, maxLength: 256 }), { maxItems: 32 })
    .describe(`Scopes to request; openid is always included. Defaults to ${DEFAULT_SCOPES.join(", ")}.`),
  claimMappings: s
    .object({
      username: mapping("Username, to which permissions are granted.").required(),
      groups: mapping("The user's groups. Defaults to none.").describe("The user's groups. Defaults to none."),
      uid: mapping("Unique identifier of the user at the provider, which is never reused. Defaults to the claim sub."),
      email: mapping("The e-mail address. Defaults to the claim email."),
      displayName: mapping("The display name. Defaults to the claim name."),
      extra: s
        .list(
          s.object({
            key: s.string({ minLength: 1, maxLength: 256 }).required().describe("Name of the extra claim."),
            valueExpression: expression.required().describe("CEL expression over the variable claims."),
          }),
          { maxItems: 32 },
        )
        .describe("Claims to store in spec.identity.extraClaims of the session key."),
    })
    .required()
    .describe(
      "Mapping of claims to attributes of the user. Claims come from the ID token, and from the userinfo endpoint if the ID token does not have them.",
    ),
  claimValidationRules: s
    .list(
      s.object({
        claim: s.string({ maxLength: 256 }).describe("A claim that must have a value."),
        requiredValue: s.string({ maxLength: 1024 }).describe("The value, compared exactly."),
        expression: expression.describe("CEL expression over the variable claims that must be true, instead of claim."),
        message: s.string({ maxLength: 256 }).describe("Message for users who do not meet the condition."),
      }),
      { maxItems: 16 },
    )
    .describe("Conditions for the claims, checked at every sign-in and refresh."),
  requiredAuthentication: s
    .object({
      acrValues: s
        .list(s.string({ minLength: 1, maxLength: 256 }), { maxItems: 16 })
        .describe(
          "Requested as acr_values. The claim acr of the ID token must be one of them, for example for a sign-in with a second factor.",
        ),
      maxAge: s
        .int32({ minimum: 60, maximum: MAX_SESSION_SECONDS })
        .describe(
          "Requested as max_age, in seconds. The claim auth_time of the ID token must not be older, so that the provider asks people for their credentials again.",
        ),
    })
    .describe(
      "How people must have authenticated at the provider, checked at every sign-in. Sessions are not ended by it.",
    ),
  allowedGroups: s
    .list(s.string({ minLength: 1, maxLength: 256 }), { maxItems: 100 })
    .describe("Only members of these groups may sign in, as claimMappings.groups maps them. If unset, everyone may."),
  teams: s
    .list(s.string({ minLength: 1, maxLength: 253 }), { maxItems: 32 })
    .describe("Teams that users join when they are created at their first sign-in."),
  createUsers: s
    .boolean()
    .describe("Whether users are created at their first sign-in. If unset, only existing users can sign in."),
  linkUsers: s
    .boolean()
    .describe(
      "Whether a first sign-in is linked to an existing user with the same username that has no identity at this provider. Only for providers where users cannot choose their username.",
    ),
  sessionTTL: s
    .int32({ minimum: 60, maximum: MAX_SESSION_SECONDS })
    .describe(`TTL of a session in seconds, whether or not it is used. Defaults to ${DEFAULT_SESSION_SECONDS}.`),
  inactivityTTL: s
    .int32({ minimum: 60, maximum: MAX_SESSION_SECONDS })
    .describe("Seconds after which an unused session expires. Defaults to sessionTTL."),
  refreshInterval: s
    .int32({ minimum: 10, maximum: 86_400 })
    .describe(
      `Interval in seconds at which the server refreshes a session that has a refresh token. Defaults to ${DEFAULT_REFRESH_SECONDS}.`,
    ),
  staleAfter: s
    .int32({ minimum: 60, maximum: MAX_SESSION_SECONDS })
    .describe(
      `Seconds after which a session expires when the provider cannot be reached. Defaults to ${DEFAULT_STALE_SECONDS}. Sessions without a refresh token last for sessionTTL.`,
    ),
});

export const identityProviderFields = s
  .object({
    spec: spec.required().describe("Settings of the provider."),
    status: s
      .object({
        conditions: conditionsField,
        redirectURI: s.string().describe("The redirect URI that the client needs at the provider."),
        clientKeysURI: s
          .string()
          .describe(
            "URI of the server's public keys (JWK set), which the client needs at the provider for PrivateKeyJWT.",
          ),
        backChannelLogoutURI: s.string().describe("The back-channel logout URI of the client at the provider."),
      })
      .describe("Observed state of the provider. Read-only."),
  })
  .describe("An OpenID Connect provider that users sign in with.");

export type IdentityProvider = KindOf<typeof identityProviderFields>;
export type IdentityProviderSpec = Infer<typeof spec>;
export type ClaimMapping = Infer<ReturnType<typeof mapping>>;
export const identityProviderSchema = kindSchema(identityProviderFields.schema);

const providerCheck = s.object({
  type: s
    .string()
    .describe(
      "Type of the check: Enabled, Discovery, Client or Keys of the provider; Token, Issuer, Audience, Time and Signature of an ID token; Claims and User of what it says.",
    ),
  field: s.string().describe("Field of the provider that requires it."),
  status: s.string().describe("True, False, or Unknown if an earlier check failed."),
  message: s.string().describe("Human-readable explanation."),
});

const text = (what: string) => s.string().describe(what);
const texts = (what: string) => s.list(s.string()).describe(what);

export const identityProviderTestFields = s
  .object({
    spec: s
      .object({
        idToken: s.string().describe("An ID token of the provider, to test. It is neither stored nor logged."),
        claims: s
          .anyObject()
          .describe(
            "Claims to test instead of an ID token, as the provider would send them. Neither stored nor logged.",
          ),
      })
      .describe("What to test. Without both, only the provider is tested."),
    status: s
      .object({
        accepted: s.boolean().describe("Whether all checks hold, so that a user could sign in."),
        checks: s.list(providerCheck).describe("Checks, in order."),
        provider: s
          .object({
            authorizationEndpoint: text("Where browsers are sent to."),
            tokenEndpoint: text("Where codes and refresh tokens are sent to."),
            userInfoEndpoint: text("Where further claims come from."),
            jwksURI: text("Where the keys are."),
            scopes: texts("Supported scopes."),
            claims: texts("Supported claims."),
            clientAuthentication: texts("Supported ways to authenticate the client."),
            keyIDs: texts("Key IDs (kid) of the keys that verify tokens."),
          })
          .describe("What the discovery document says. Long lists are cut off."),
        claims: s.map(s.string()).describe("Claims of the token, verified or not; long ones are left out."),
        identity: s
          .object({
            subject: text("Identifier of the user at the provider."),
            username: text("Username."),
            groups: texts("Groups of the user."),
            email: text("E-mail address."),
            displayName: text("Display name."),
            extra: s.map(s.string()).describe("Extra claims."),
            warning: text("Warning that the user would see."),
          })
          .describe("What the claims are mapped to."),
        user: s
          .object({
            name: text("Name of the user."),
            how: s
              .string({ enum: ["Known", "Linked", "Created"] })
              .describe("Whether the user has this identity, would be linked to it, or would be created."),
            teams: texts("Teams that the user is in, or would join."),
          })
          .describe("The user that would be signed in."),
      })
      .describe("The result. Nobody is signed in, and no user is changed."),
  })
  .describe("Tests an identity provider, and whom a token or claims of it sign in.");

export type IdentityProviderTest = KindOf<typeof identityProviderTestFields>;
export const identityProviderTestSchema = kindSchema(identityProviderTestFields.schema);

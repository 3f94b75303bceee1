// Creates and edits an identity provider: the client, claim mappings, and who can sign in.

import "./trust/trust-texts.ts";
import type { ClaimMapping, IdentityProvider } from "@postern/api/identity-provider";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { IDENTITY_PROVIDERS, TEAMS } from "../api/resources.ts";
import { withoutEmpty } from "../api/spec-changes.ts";
import { Code } from "../components/copy-text.tsx";
import { Checkbox, GroupError, SelectField } from "../components/forms/fields.tsx";
import { NameField } from "../components/forms/name-field.tsx";
import { NameFields, type Names, NO_NAMES, namesOf } from "../components/forms/name-fields.tsx";
import { formPages } from "../components/forms/object-form.tsx";
import {
  NO_SECRET,
  type SecretDraft,
  SecretFields,
  secretDraftOf,
  secretRefOf,
} from "../components/forms/secret-fields.tsx";
import { TextField } from "../components/forms/text-field.tsx";
import { duration } from "../format/ages.ts";
import { asLines, linesIn, namesIn } from "../format/text-lists.ts";
import { t } from "../texts/text.tsx";
import { CLIENT_SECRET, ClientSecret, placeOfSecret } from "./client-secret.tsx";

const SESSIONS = ["3600", "28800", "43200", "86400", "604800", "2592000"] as const;
/** The server's default. */
const DEFAULT_SESSION = "43200";
/** Seconds since people entered their credentials. */
const AGES = ["300", "3600", "28800", "86400"] as const;
const MAPPED = ["username", "groups", "uid"] as const;

type Mapping = { readonly claim: string; readonly expression: string; readonly prefix: string };

/** How the client authenticates; the first with the secret, if there is one. */
const METHODS = ["Basic", "Post", "PrivateKeyJWT", "FederatedToken"] as const;
type Method = (typeof METHODS)[number];
const hasSecret = (method: Method): boolean => method === "Basic" || method === "Post";

type Draft = Names & {
  readonly method: Method;
  readonly url: string;
  readonly certificateAuthority: string;
  readonly clientId: string;
  readonly secret: SecretDraft;
  readonly mappings: { readonly [member in (typeof MAPPED)[number]]: Mapping };
  readonly allowedGroups: string;
  /** One per line. */
  readonly acrValues: string;
  /** Seconds; "": any. */
  readonly maxAge: string;
  readonly teams: string;
  readonly createUsers: boolean;
  readonly linkUsers: boolean;
  readonly sessionTTL: string;
  readonly inactivityTTL: string;
};

const mappingOf = ({ claim = "", expression = "", prefix = "" }: ClaimMapping = {}): Mapping => ({
  claim,
  expression,
  prefix,
});

const secondsText = (seconds: number | undefined): string => (seconds === undefined ? "" : String(seconds));
const secondsIn = (text: string): number | undefined => (text === "" ? undefined : Number(text));

const EMPTY: Draft = {
  ...NO_NAMES,
  method: "Basic",
  url: "",
  certificateAuthority: "",
  clientId: "",
  secret: NO_SECRET,
  mappings: { username: mappingOf({ claim: "preferred_username" }), groups: mappingOf(), uid: mappingOf() },
  allowedGroups: "",
  acrValues: "",
  maxAge: "",
  teams: "",
  createUsers: true,
  linkUsers: false,
  sessionTTL: "",
  inactivityTTL: "",
};

const draftOf = (provider: IdentityProvider): Draft => {
  const { issuer, clientId, clientSecretRef, claimMappings, requiredAuthentication = {}, ...spec } = provider.spec;
  return {
    ...namesOf(provider),
    method: METHODS.find((method) => method === spec.clientAuthentication) ?? "Basic",
    url: issuer.url,
    certificateAuthority: issuer.certificateAuthority ?? "",
    clientId,
    secret: secretDraftOf(clientSecretRef),
    mappings: {
      username: mappingOf(claimMappings.username),
      groups: mappingOf(claimMappings.groups),
      uid: mappingOf(claimMappings.uid),
    },
    allowedGroups: asLines(spec.allowedGroups),
    acrValues: asLines(requiredAuthentication.acrValues),
    maxAge: secondsText(requiredAuthentication.maxAge),
    teams: (spec.teams ?? []).join(", "),
    createUsers: spec.createUsers === true,
    linkUsers: spec.linkUsers === true,
    sessionTTL: secondsText(spec.sessionTTL),
    inactivityTTL: secondsText(spec.inactivityTTL),
  };
};

const specOf = (draft: Draft): JsonObject =>
  withoutEmpty({
    displayName: draft.displayName,
    description: draft.description,
    issuer: { url: draft.url.trim(), certificateAuthority: draft.certificateAuthority },
    clientId: draft.clientId.trim(),
    clientAuthentication: draft.method === "Basic" ? "" : draft.method,
    clientSecretRef: hasSecret(draft.method) ? secretRefOf(draft.secret) : undefined,
    claimMappings: { ...draft.mappings },
    allowedGroups: linesIn(draft.allowedGroups),
    requiredAuthentication: { acrValues: linesIn(draft.acrValues), maxAge: secondsIn(draft.maxAge) },
    teams: namesIn(draft.teams),
    createUsers: draft.createUsers,
    linkUsers: draft.linkUsers,
    sessionTTL: secondsIn(draft.sessionTTL),
    inactivityTTL: secondsIn(draft.inactivityTTL),
  });

const withOwn = (known: readonly string[], own: string): readonly string[] => [
  ...new Set([...known, ...(own === "" ? [] : [own])]),
];

export const { New: NewProviderPage, Edit: EditProviderPage } = formPages<Draft, IdentityProvider>({
  page: "provider",
  kind: "IdentityProvider",
  address: IDENTITY_PROVIDERS,
  title: "provider.new",
  lead: "providers.lead",
  empty: EMPTY,
  draftOf,
  contentOf: (draft) => ({ spec: specOf(draft) }),
  viewOf: () => "/identity-providers",
  paths: [
    "spec.issuer.certificateAuthority",
    "spec.issuer",
    "spec.clientId",
    "spec.clientAuthentication",
    "spec.clientSecretRef",
    ...MAPPED.map((member) => `spec.claimMappings.${member}`),
    "spec.allowedGroups",
    "spec.requiredAuthentication.acrValues",
    "spec.requiredAuthentication.maxAge",
    "spec.teams",
    "spec.createUsers",
    "spec.linkUsers",
    "spec.sessionTTL",
    "spec.inactivityTTL",
  ],
  fieldsOf: ({ draft, isNew, errorAt, field, onChange }) => (
    <>
      <NameFields names={draft} isNew={isNew} errorAt={errorAt} onChange={onChange} />
      <h2>{t("provider.client")}</h2>
      {isNew && draft.name !== "" && (
        <Code label={t("provider.redirect")} text={`${location.origin}/login/callback/${draft.name}`} />
      )}
      <TextField
        label={t("field.issuerUrl")}
        {...field("url", "spec.issuer")}
        description={t("provider.url.hint")}
        isMonospace
        isRequired
      />
      <TextField
        label={t("provider.ca")}
        {...field("certificateAuthority", "spec.issuer.certificateAuthority")}
        description={t("provider.ca.hint")}
        isMonospace
        isMultiline
      />
      <TextField label={t("provider.fact.client")} {...field("clientId", "spec.clientId")} isMonospace isRequired />
      <SelectField<Method>
        label={t("provider.method")}
        {...field("method", "spec.clientAuthentication")}
        choices={METHODS.map((id) => ({ id, label: t(`provider.method.${id}`) }))}
        {...(draft.method === "FederatedToken" ? { description: t("provider.method.FederatedToken.hint") } : {})}
      />
      {draft.method === "PrivateKeyJWT" && (
        <Code label={t("provider.clientKeys")} text={`${location.origin}/oauth/client-keys`} />
      )}
      {hasSecret(draft.method) && (
        <SecretFields
          label={t("provider.secret")}
          hint={t("provider.secret.hint")}
          secret={draft.secret}
          defaults={{ key: CLIENT_SECRET }}
          error={errorAt("spec.clientSecretRef")}
          onChange={(secret) => onChange({ secret })}
        />
      )}
      {hasSecret(draft.method) && <ClientSecret place={placeOfSecret(secretRefOf(draft.secret))} />}
      <h2>{t("provider.claims")}</h2>
      {MAPPED.map((member) => (
        <fieldset key={member} className="rows">
          <legend>{t(`provider.mapping.${member}`)}</legend>
          <p className="hint">{t(`provider.mapping.${member}.hint`)}</p>
          <div className="columns">
            {(["claim", "expression"] as const).map((part) => (
              <TextField
                key={part}
                label={t(`provider.mapping.${part}`)}
                value={draft.mappings[member][part]}
                onChange={(text) =>
                  onChange({
                    mappings: { ...draft.mappings, [member]: { ...draft.mappings[member], [part]: text } },
                  })
                }
                isMonospace
              />
            ))}
          </div>
          <GroupError text={errorAt(`spec.claimMappings.${member}`)} />
        </fieldset>
      ))}
      <h2>{t("provider.people")}</h2>
      <TextField
        label={t("provider.fact.who")}
        {...field("allowedGroups", "spec.allowedGroups")}
        description={t("provider.groups.hint")}
        isMultiline
        isMonospace
      />
      <TextField
        label={t("provider.fact.acr")}
        {...field("acrValues", "spec.requiredAuthentication.acrValues")}
        description={t("provider.acr.hint")}
        isMultiline
        isMonospace
      />
      <SelectField
        label={t("provider.fact.maxAge")}
        value={draft.maxAge || "none"}
        choices={[
          { id: "none", label: t("provider.maxAge.none") },
          ...withOwn(AGES, draft.maxAge).map((id) => ({ id, label: duration(Number(id)) })),
        ]}
        onChange={(id) => onChange({ maxAge: id === "none" ? "" : id })}
        description={t("provider.maxAge.hint")}
        error={errorAt("spec.requiredAuthentication.maxAge")}
      />
      <Checkbox
        isSelected={draft.createUsers}
        onChange={(createUsers) => onChange({ createUsers })}
        description={t("provider.createUsers.hint")}
      >
        {t("provider.createUsers")}
      </Checkbox>
      <GroupError text={errorAt("spec.createUsers")} />
      <Checkbox
        isSelected={draft.linkUsers}
        onChange={(linkUsers) => onChange({ linkUsers })}
        description={t("provider.linkUsers.hint")}
      >
        {t("provider.linkUsers")}
      </Checkbox>
      <GroupError text={errorAt("spec.linkUsers")} />
      <NameField
        of={TEAMS}
        isList
        label={t("provider.fact.teams")}
        {...field("teams", "spec.teams")}
        description={t("form.commas.hint")}
      />
      <div className="columns">
        <SelectField
          label={t("provider.fact.session")}
          value={draft.sessionTTL || DEFAULT_SESSION}
          choices={withOwn(SESSIONS, draft.sessionTTL).map((id) => ({ id, label: duration(Number(id)) }))}
          onChange={(sessionTTL) => onChange({ sessionTTL })}
          error={errorAt("spec.sessionTTL")}
        />
        <SelectField
          label={t("provider.inactivity")}
          value={draft.inactivityTTL || "none"}
          choices={[
            { id: "none", label: t("provider.inactivity.none") },
            ...withOwn(SESSIONS, draft.inactivityTTL).map((id) => ({ id, label: duration(Number(id)) })),
          ]}
          onChange={(id) => onChange({ inactivityTTL: id === "none" ? "" : id })}
          error={errorAt("spec.inactivityTTL")}
        />
      </div>
    </>
  ),
});

// Creates and changes an identity provider: who it is, what of its claims counts for what, and whom it signs in.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { useParams } from "@tanstack/react-router";
import { type ClaimMapping, IDENTITY_PROVIDERS, type IdentityProvider } from "../api/resources.ts";
import { withoutEmpty } from "../api/spec-changes.ts";
import { Code } from "../components/copy-text.tsx";
import { Checkbox, Fault, SelectField } from "../components/fields.tsx";
import { NameFields, type Names, NO_NAMES, namesOf } from "../components/name-fields.tsx";
import { EditObject, type FormDefinition, NewObject } from "../components/object-form.tsx";
import { TextField } from "../components/text-field.tsx";
import { duration } from "../format/ages.ts";
import { asLines, linesIn } from "../format/lines.ts";
import { t } from "../texts/text.tsx";

const SESSIONS = ["3600", "28800", "43200", "86400", "604800", "2592000"] as const;
/** As the server has it where the provider names none. */
const DEFAULT_SESSION = "43200";
const MAPPED = ["username", "groups", "uid"] as const;

type Mapping = { readonly claim: string; readonly expression: string; readonly prefix: string };

type Draft = Names & {
  readonly url: string;
  readonly certificateAuthority: string;
  readonly clientId: string;
  readonly secretNamespace: string;
  readonly secretName: string;
  readonly secretKey: string;
  readonly mappings: { readonly [member in (typeof MAPPED)[number]]: Mapping };
  readonly allowedGroups: string;
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

const EMPTY: Draft = {
  ...NO_NAMES,
  url: "",
  certificateAuthority: "",
  clientId: "",
  secretNamespace: "",
  secretName: "",
  secretKey: "",
  mappings: { username: mappingOf({ claim: "preferred_username" }), groups: mappingOf(), uid: mappingOf() },
  allowedGroups: "",
  teams: "",
  createUsers: true,
  linkUsers: false,
  sessionTTL: "",
  inactivityTTL: "",
};

const draftOf = (provider: IdentityProvider): Draft => {
  const { issuer, clientId = "", clientSecretRef, claimMappings = {}, ...spec } = provider.spec ?? {};
  return {
    ...namesOf(provider),
    url: issuer?.url ?? "",
    certificateAuthority: issuer?.certificateAuthority ?? "",
    clientId,
    secretNamespace: clientSecretRef?.secretNamespace ?? "",
    secretName: clientSecretRef?.secretName ?? "",
    secretKey: clientSecretRef?.key ?? "",
    mappings: {
      username: mappingOf(claimMappings.username),
      groups: mappingOf(claimMappings.groups),
      uid: mappingOf(claimMappings.uid),
    },
    allowedGroups: asLines(spec.allowedGroups),
    teams: asLines(spec.teams),
    createUsers: spec.createUsers === true,
    linkUsers: spec.linkUsers === true,
    sessionTTL: spec.sessionTTL === undefined ? "" : String(spec.sessionTTL),
    inactivityTTL: spec.inactivityTTL === undefined ? "" : String(spec.inactivityTTL),
  };
};

const specOf = (draft: Draft): JsonObject =>
  withoutEmpty({
    displayName: draft.displayName,
    description: draft.description,
    issuer: { url: draft.url.trim(), certificateAuthority: draft.certificateAuthority },
    clientId: draft.clientId.trim(),
    clientSecretRef: {
      secretNamespace: draft.secretNamespace.trim(),
      secretName: draft.secretName.trim(),
      key: draft.secretKey.trim(),
    },
    claimMappings: { ...draft.mappings },
    allowedGroups: linesIn(draft.allowedGroups),
    teams: linesIn(draft.teams),
    createUsers: draft.createUsers,
    linkUsers: draft.linkUsers,
    sessionTTL: draft.sessionTTL === "" ? undefined : Number(draft.sessionTTL),
    inactivityTTL: draft.inactivityTTL === "" ? undefined : Number(draft.inactivityTTL),
  });

const withOwn = (known: readonly string[], own: string): readonly string[] => [
  ...new Set([...known, ...(own === "" ? [] : [own])]),
];

const FORM: FormDefinition<Draft, IdentityProvider> = {
  page: "provider",
  kindOf: () => "IdentityProvider",
  empty: EMPTY,
  draftOf,
  contentOf: (draft) => ({ spec: specOf(draft) }),
  addressOf: () => IDENTITY_PROVIDERS,
  viewOf: () => "/identity-providers",
  paths: [
    "spec.issuer.certificateAuthority",
    "spec.issuer",
    "spec.clientId",
    "spec.clientSecretRef",
    ...MAPPED.map((member) => `spec.claimMappings.${member}`),
    "spec.allowedGroups",
    "spec.teams",
    "spec.createUsers",
    "spec.linkUsers",
    "spec.sessionTTL",
    "spec.inactivityTTL",
  ],
  fieldsOf: ({ draft, isNew, faultAt, onChange }) => (
    <>
      <NameFields names={draft} isNew={isNew} faultAt={faultAt} onChange={onChange} />
      <h2>{t("provider.client")}</h2>
      {isNew && draft.name !== "" && (
        <Code label={t("provider.redirect")} text={`${location.origin}/login/callback/${draft.name}`} />
      )}
      <TextField
        label={t("provider.url")}
        value={draft.url}
        onChange={(url) => onChange({ url })}
        description={t("provider.url.hint")}
        error={faultAt("spec.issuer")}
        isMonospace
        isRequired
        autoComplete="off"
      />
      <TextField
        label={t("provider.ca")}
        value={draft.certificateAuthority}
        onChange={(certificateAuthority) => onChange({ certificateAuthority })}
        description={t("provider.ca.hint")}
        error={faultAt("spec.issuer.certificateAuthority")}
        isMonospace
        isMultiline
      />
      <TextField
        label={t("provider.fact.client")}
        value={draft.clientId}
        onChange={(clientId) => onChange({ clientId })}
        error={faultAt("spec.clientId")}
        isMonospace
        isRequired
        autoComplete="off"
      />
      <fieldset className="rows">
        <legend>{t("provider.secret")}</legend>
        <p className="hint">{t("provider.secret.hint")}</p>
        <div className="columns">
          <TextField
            label={t("provider.secret.namespace")}
            value={draft.secretNamespace}
            onChange={(secretNamespace) => onChange({ secretNamespace })}
            autoComplete="off"
          />
          <TextField
            label={t("provider.secret.name")}
            value={draft.secretName}
            onChange={(secretName) => onChange({ secretName })}
            autoComplete="off"
          />
          <TextField
            label={t("provider.secret.key")}
            value={draft.secretKey}
            onChange={(secretKey) => onChange({ secretKey })}
            placeholder="clientSecret"
            autoComplete="off"
          />
        </div>
        <Fault text={faultAt("spec.clientSecretRef")} />
      </fieldset>
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
                autoComplete="off"
              />
            ))}
          </div>
          <Fault text={faultAt(`spec.claimMappings.${member}`)} />
        </fieldset>
      ))}
      <h2>{t("provider.people")}</h2>
      <TextField
        label={t("provider.fact.who")}
        value={draft.allowedGroups}
        onChange={(allowedGroups) => onChange({ allowedGroups })}
        description={t("provider.groups.hint")}
        error={faultAt("spec.allowedGroups")}
        isMultiline
        isMonospace
      />
      <Checkbox
        isSelected={draft.createUsers}
        onChange={(createUsers) => onChange({ createUsers })}
        description={t("provider.createUsers.hint")}
      >
        {t("provider.createUsers")}
      </Checkbox>
      <Fault text={faultAt("spec.createUsers")} />
      <Checkbox
        isSelected={draft.linkUsers}
        onChange={(linkUsers) => onChange({ linkUsers })}
        description={t("provider.linkUsers.hint")}
      >
        {t("provider.linkUsers")}
      </Checkbox>
      <Fault text={faultAt("spec.linkUsers")} />
      <TextField
        label={t("provider.fact.teams")}
        value={draft.teams}
        onChange={(teams) => onChange({ teams })}
        description={t("form.lines.hint")}
        error={faultAt("spec.teams")}
        isMultiline
      />
      <div className="columns">
        <SelectField
          label={t("provider.fact.session")}
          value={draft.sessionTTL || DEFAULT_SESSION}
          choices={withOwn(SESSIONS, draft.sessionTTL).map((id) => ({ id, label: duration(Number(id)) }))}
          onChange={(sessionTTL) => onChange({ sessionTTL })}
          error={faultAt("spec.sessionTTL")}
        />
        <SelectField
          label={t("provider.inactivity")}
          value={draft.inactivityTTL || "none"}
          choices={[
            { id: "none", label: t("provider.inactivity.none") },
            ...withOwn(SESSIONS, draft.inactivityTTL).map((id) => ({ id, label: duration(Number(id)) })),
          ]}
          onChange={(id) => onChange({ inactivityTTL: id === "none" ? "" : id })}
          error={faultAt("spec.inactivityTTL")}
        />
      </div>
    </>
  ),
};

export const NewProviderPage = () => <NewObject form={FORM} title={t("provider.new")} lead={t("providers.lead")} />;

export function EditProviderPage() {
  const { name = "" } = useParams({ strict: false });
  return <EditObject form={FORM} address={IDENTITY_PROVIDERS} name={name} />;
}

// One trust rule: the tokens that it accepts, the keys that it issues, and a tester for tokens.

import "./trust-texts.ts";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { TrustRule } from "@postern/api/trust-rule";
import { ACCESS_KEYS, CLUSTER_TRUST_RULES, inNamespace, nameOf, TRUST_RULES } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { DescriptionCard } from "../../components/description-list.tsx";
import { DisableSwitch } from "../../components/dialogs/disable-switch.tsx";
import { HeadWithActions } from "../../components/object-actions.tsx";
import { objectPage } from "../../components/object-page.tsx";
import { Section } from "../../components/page-head.tsx";
import { Time } from "../../components/time.tsx";
import { duration } from "../../format/ages.ts";
import { namespaceOf } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { KeyList } from "../keys/key-list.tsx";
import { issuedByRule } from "./issued-by-rule.ts";
import { TestToken } from "./test-token.tsx";
import { issuerOf, NotReady, ReadyBadge, trustScope } from "./trust-page.tsx";
import { UseRule } from "./use-rule.tsx";

const LONGEST_SECONDS = 3_600;

/** In addresses of the console: a rule for the whole platform. */
export const EVERYWHERE = "-";

export const addressIn = (project: string): typeof TRUST_RULES =>
  project === EVERYWHERE ? CLUSTER_TRUST_RULES : inNamespace(TRUST_RULES, namespaceOf(project));

export const TrustRulePage = objectPage<TrustRule>("trust", addressIn, (rule, project) => (
  <TrustRuleView rule={rule} project={project} />
));

function TrustRuleView({ rule, project }: { readonly rule: TrustRule; readonly project: string }) {
  const name = nameOf(rule);
  const isOfProject = project !== EVERYWHERE;
  const address = addressIn(project);
  const { spec, status = {} } = rule;
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return (
    <>
      <HeadWithActions
        kind="trust"
        address={address}
        object={rule}
        editedAt={`/trust/${project}/${name}/edit`}
        consequences={[t("trust.disable.exchange"), t("trust.disable.keys")]}
      >
        <DisableSwitch
          address={address}
          object={rule}
          disables={[t("trust.disable.exchange"), t("trust.disable.keys")]}
          enables={[t("trust.enable.again")]}
        />
      </HeadWithActions>
      {ready?.status === "False" && spec.disabled !== true && <NotReady condition={ready} />}
      <DescriptionCard
        items={[
          [
            t("field.state"),
            <ReadyBadge key="state" isDisabled={spec.disabled === true} conditions={status.conditions} />,
          ],
          [t("field.name"), <code key="name">{name}</code>],
          [t("field.project"), isOfProject ? t("place.project", { name: project }) : t("trust.everywhere")],
          [t("trust.fact.keysFetched"), <Time key="at" at={status.keysFetchedTime} otherwise={t("trust.never")} />],
        ]}
      />
      <Section title={t("trust.accepts.title")} lead={t("trust.accepts.lead")}>
        <ul className="lines card pairs">
          <li>
            <span>{t("field.issuer")}</span>
            <span className="mono">{issuerOf(rule)}</span>
          </li>
          <li>
            <span>{t("trust.accepts.audience")}</span>
            <span className="mono">{spec.audiences.join(", ")}</span>
          </li>
          {(spec.claims ?? []).map(({ claim, values }) => (
            <li key={claim}>
              <code>{claim}</code>
              <span className="mono">{values.join(", ")}</span>
            </li>
          ))}
          {(spec.conditions ?? []).map(({ expression, message }) => (
            <li key={expression}>
              <code>{expression}</code>
              <span className="muted">{message}</span>
            </li>
          ))}
          {spec.singleUse === true && <li>{t("trust.accepts.once")}</li>}
        </ul>
      </Section>
      <Section title={t("trust.gives.title")}>
        <DescriptionCard
          items={[
            [t("field.user"), spec.user],
            [t("field.scope"), trustScope(rule)],
            [t("field.ttl"), duration(spec.ttl ?? LONGEST_SECONDS)],
          ]}
        />
      </Section>
      <UseRule rule={rule} project={isOfProject ? project : undefined} />
      <TestToken address={address} name={name} />
      <Issued rule={rule} />
    </>
  );
}

function Issued({ rule }: { readonly rule: TrustRule }) {
  const keys = useLive<OwnedAccessKey>(ACCESS_KEYS);
  return (
    <Section title={t("trust.issued.title")} lead={t("trust.issued.lead")}>
      <KeyList
        list={keys}
        keys={issuedByRule(keys.items, rule)}
        none={t("list.empty")}
        noteOf={({ status }) => status?.issuedBy?.subject}
      />
    </Section>
  );
}

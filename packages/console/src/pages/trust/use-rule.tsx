// How to use a trust rule in a job, with the address of this server and the audience of the rule.

import "./trust-texts.ts";
import type { TrustRule } from "@postern/api/trust-rule";
import { useState } from "react";
import { useAuthority } from "../../api/use-authority.ts";
import { Code, DownloadButton } from "../../components/copy-text.tsx";
import { DocsLink } from "../../components/docs-link.tsx";
import { SelectField } from "../../components/forms/fields.tsx";
import { Section } from "../../components/page-head.tsx";
import { t } from "../../texts/text.tsx";
import { SYSTEMS, snippetFor, systemOf } from "./rule-snippets.ts";

/** `project`: undefined for a rule of the whole platform. */
export function UseRule({ rule, project }: { readonly rule: TrustRule; readonly project: string | undefined }) {
  const authority = useAuthority();
  const [system, setSystem] = useState(() => systemOf(rule));
  const hasAuthority = authority !== "";
  const { fileName, text } = snippetFor(system, { rule, project, origin: location.origin, hasAuthority });
  return (
    <Section
      title={t("trust.use.title")}
      lead={t("trust.use.lead")}
      actions={<DocsLink to="/docs/guides/ci">{t("help.examples")}</DocsLink>}
    >
      <div className="stack narrow">
        <SelectField
          label={t("trust.use.system")}
          value={system}
          choices={SYSTEMS.map((id) => ({ id, label: t(`trust.use.system.${id}`) }))}
          onChange={setSystem}
        />
        <Code
          label={fileName}
          text={text}
          {...(hasAuthority
            ? { actions: <DownloadButton text={authority} fileName="ca.crt" label={t("trust.use.ca")} /> }
            : {})}
        />
        {hasAuthority && <p className="hint">{t(`trust.use.authority.${system}`)}</p>}
      </div>
    </Section>
  );
}

// Permitted and forbidden actions of a key, as two lists of sentences.

import type { KeyScope } from "@postern/api/access-key-scope";
import { Check, X } from "lucide-react";
import { t } from "../../texts/text.tsx";
import { scopeWords } from "./scope-words.ts";

export function ScopeList(props: {
  readonly limits: { readonly scope?: KeyScope | undefined; readonly rules?: readonly unknown[] | undefined };
}) {
  const { can, cannot } = scopeWords(props.limits);
  return (
    <div className="scope-list">
      <div>
        <h3>{t("scope.can")}</h3>
        <ul>
          {can.map((words) => (
            <li key={words}>
              <Check aria-hidden="true" className="lucide yes" />
              {words}
            </li>
          ))}
        </ul>
      </div>
      <div>
        <h3>{t("scope.cannot")}</h3>
        <ul>
          {cannot.map((words) => (
            <li key={words}>
              <X aria-hidden="true" className="lucide no" />
              {words}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

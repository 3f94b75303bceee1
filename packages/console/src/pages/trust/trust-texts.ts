// Adds the texts of trust rules and identity providers, which load with their pages.

import trust from "../../texts/en-trust.json";
import { addTexts } from "../../texts/text.tsx";

addTexts(trust);

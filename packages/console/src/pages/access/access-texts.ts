// Adds the texts of Check access, which load with that page.

import access from "../../texts/en-access.json";
import { addTexts } from "../../texts/text.tsx";

addTexts(access);

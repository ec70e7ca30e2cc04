//! JSON without a crate: what a reader of answers has to know of it.

pub enum Json {
    Null,
    Bool,
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn parse(text: &str) -> Option<Json> {
        let mut reader = Reader { bytes: text.as_bytes(), at: 0 };
        let value = reader.value(0)?;
        reader.space();
        (reader.at == reader.bytes.len()).then_some(value)
    }

    /// The member of an object, unless it is null; of duplicate keys the last one's.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let members = if let Json::Object(members) = self { members } else { return None };
        let (_, value) = members.iter().rev().find(|(key, _)| key == name)?;
        (!matches!(value, Json::Null)).then_some(value)
    }

    /// The text of a member, unless it is empty.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.get(name)?.text().filter(|text| !text.is_empty())
    }

    pub fn text(&self) -> Option<&str> {
        if let Json::Text(text) = self { Some(text) } else { None }
    }

    /// The items of a member that is a list; none where it is not.
    pub fn list(&self, name: &str) -> &[Json] {
        if let Some(Json::List(items)) = self.get(name) { items } else { &[] }
    }

    pub fn count(&self) -> Option<i64> {
        if let Json::Number(digits) = self { digits.parse().ok() } else { None }
    }
}

pub fn or_null(value: Option<impl ToString>) -> String {
    value.map_or("null".to_string(), |value| value.to_string())
}

pub fn quoted(value: &str) -> String {
    let escaped = value.chars().map(|each| match each {
        '"' | '\\' => format!("\\{each}"),
        '\0'..='\x1f' => format!("\\u{:04x}", each as u32),
        _ => each.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn run(&mut self, of: &[u8]) -> &[u8] {
        let from = self.at;
        self.at += self.bytes[from..].iter().take_while(|each| of.contains(each)).count();
        &self.bytes[from..self.at]
    }

    fn space(&mut self) {
        self.run(b" \t\r\n");
    }

    fn take(&mut self, word: &str) -> Option<()> {
        self.bytes[self.at..].starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        self.space();
        match self.bytes.get(self.at)? {
            _ if depth > 200 => None, // no answer is as deep
            b'n' => self.take("null").map(|()| Json::Null),
            b't' => self.take("true").map(|()| Json::Bool),
            b'f' => self.take("false").map(|()| Json::Bool),
            b'"' => self.string().map(Json::Text),
            b'[' => self.items("]", |reader| reader.value(depth + 1)).map(Json::List),
            b'{' => self.items("}", |reader| reader.member(depth + 1)).map(Json::Object),
            b'-' | b'0'..=b'9' => {
                let digits = String::from_utf8_lossy(self.run(b"+-.eE0123456789")).into_owned();
                digits.parse::<f64>().is_ok().then_some(Json::Number(digits))
            }
            _ => None,
        }
    }

    fn items<T>(&mut self, end: &str, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        self.at += 1;
        self.space();
        while items.is_empty() && self.take(end).is_none() || !items.is_empty() && self.take(",").is_some() {
            items.push(one(self)?);
            self.space();
        }
        (items.is_empty() || self.take(end).is_some()).then_some(items)
    }

    fn member(&mut self, depth: usize) -> Option<(String, Json)> {
        self.space();
        let key = self.string()?;
        self.space();
        self.take(":")?;
        Some((key, self.value(depth)?))
    }

    fn string(&mut self) -> Option<String> {
        self.take("\"")?;
        let mut value = Vec::new();
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(value).ok(),
                b'\\' => value.extend(self.escape()?.to_string().bytes()),
                0..=0x1f => return None,
                _ => value.push(byte),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        self.at += 1;
        let byte = self.bytes.get(self.at - 1)?;
        if *byte != b'u' {
            let at = br#""\/bfnrt"#.iter().position(|each| each == byte)?;
            return Some(['"', '\\', '/', '\x08', '\x0c', '\n', '\r', '\t'][at]);
        }
        let (first, behind) = (self.unit()?, self.at);
        let second = self.take("\\u").and_then(|()| self.unit()).unwrap_or(0);
        if (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&second) {
            return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
        }
        self.at = behind;
        Some(char::from_u32(first).unwrap_or('\u{fffd}')) // half of a pair is no character
    }

    fn unit(&mut self) -> Option<u32> {
        self.at += 4;
        let digits = std::str::from_utf8(self.bytes.get(self.at - 4..self.at)?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    }
}

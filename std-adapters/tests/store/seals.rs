//! Seals.

use mcp_sansio_adapters::KeyRing;

#[test]
fn a_record_opens_only_unchanged_under_its_key_with_its_secret() {
    let keys = KeyRing::new([1; 32]);
    let sealed = keys.seal_record("task/1", b"record".to_vec());
    assert_eq!(keys.open_record("task/1", &sealed), Some(&b"record"[..]));
    assert_eq!(keys.open_record("task/2", &sealed), None);
    // The end of the key is not the beginning of the record.
    assert_eq!(keys.open_record("task", &[b"/1", &sealed[..]].concat()), None);
    assert_eq!(KeyRing::new([2; 32]).open_record("task/1", &sealed), None);
    for at in 0..sealed.len() {
        assert_eq!(keys.open_record("task/1", &sealed[..at]), None, "cut at {at}");
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        assert_eq!(keys.open_record("task/1", &changed), None, "changed at {at}");
    }
    assert_eq!(keys.open_record("task/1", &[&sealed[..], b"x"].concat()), None);
}

#[test]
fn a_new_secret_accepts_the_previous_one_but_does_not_seal_with_it() {
    let (old, new) =
        (KeyRing::new([1; 32]), KeyRing { previous: Some([1; 32]), ..KeyRing::new([2; 32]) });
    let sealed = old.seal_record("a", b"1".to_vec());
    assert_eq!(new.open_record("a", &sealed), Some(&b"1"[..]));
    let resealed = new.seal_record("a", b"1".to_vec());
    assert_eq!(old.open_record("a", &resealed), None);
    assert_eq!(KeyRing::new([2; 32]).open_record("a", &resealed), Some(&b"1"[..]));
    assert_eq!(
        KeyRing { previous: Some([2; 32]), ..KeyRing::new([3; 32]) }.open_record("a", &sealed),
        None,
        "two are accepted"
    );
}

/// Python wrote the expected bytes: `hmac.new(secret, b"mcp-sansio record\n" +
/// len(key).to_bytes(8) + key + record, "sha256")`.
#[test]
fn the_tag_is_that_of_another_implementation() {
    let sealed = KeyRing::new([7; 32]).seal_record("task/1", b"record".to_vec());
    assert_eq!(
        hex(&sealed[6..]),
        "4c6c7545e01a3f7d22c42361e5f5e82e8848e5faf6be1c07b1e3ffa0ee6ce9c1"
    );
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

//! Tests that a program that may write to a disk needs approval, and that one that reads it does not.

use super::*;
use Verdict::{Allow, Ask};

const WRITING: &[&str] = &[
    "tar cf /dev/sda .",
    "tar -cf/dev/sdb x",
    "curl -o /dev/sda h",
    "wget -O /dev/sda h",
    "install x /dev/sda",
    "rsync x /dev/sda",
    "sort -o /dev/sda x",
    "xxd -r x /dev/sda",
    "qemu-img convert -O raw x /dev/sdb",
    "openssl rand -out /dev/nvme0n1 100",
    "mv x /dev/sda",
    "bmaptool copy x /dev/mmcblk0",
    "python3 -c \"open('/dev/sda','wb').write(b'x')\"",
    "perl -e 'open F,\">/dev/sda\"'",
    "echo \"open('/dev/sda','wb')\" | python3",
    "D=/dev/sda; tar cf $D .",
    "sudo tar cf /dev/sda .",
    "gdisk /dev/sda",
    "cfdisk /dev/sda",
    "mkdosfs /dev/sda1",
    "mkntfs /dev/sda1",
    "newfs /dev/da0",
    "zpool create x /dev/sda",
    "zpool labelclear -f /dev/sda",
    "lvreduce -L 1G x",
    "e2image -ra x /dev/sda",
    "ntfsclone --restore-image -O /dev/sda1 x",
    "partclone.restore -s x -o /dev/sda1",
    "mdadm --create /dev/md0 x",
    "resize2fs -M /dev/sda1",
    "sg_format /dev/sda",
    "tar cf /dev/mapper/vg-x .",
    "tar cf /dev/disk/by-id/x .",
];

const READING: &[&str] = &[
    "lsblk /dev/sda",
    "ls -l /dev/sda",
    "cat /dev/null",
    "tar cf /dev/null .",
    "sudo mount /dev/sdb1 /mnt",
    "umount /dev/sdb1",
    "sudo smartctl -a /dev/sda",
    "sudo fdisk -l /dev/sda",
    "dd if=/dev/sda of=x.img",
    "cp /dev/sda x.img",
    "hdparm -I /dev/sda",
    "ffmpeg -f v4l2 -i /dev/video0 x.mp4",
    "docker run --device /dev/dri x",
    "esptool --port /dev/ttyUSB0 write_flash 0 x.bin",
    "cp x src/dev/sda",
    "git commit -m 'do not write to /dev/sda'",
    "rg /dev/sda src",
    "curl -o /dev/null h",
    "prog > /dev/stderr",
];

#[test]
fn a_disk_that_may_be_written_is_asked_about() {
    check(&permissions(&[("bash", Allow)]), PermissionMode::Auto, Ask, WRITING);
    check(&permissions(&[]), PermissionMode::Auto, Allow, READING);
    let named = permissions(&[("bash(partclone.restore -s x -o /dev/sda1)", Allow)]);
    check(&named, PermissionMode::Auto, Allow, &["partclone.restore -s x -o /dev/sda1"]);
}
